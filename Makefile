# demo: the main job on a real plan. test: everything that CI checks. See README.md.
CARGO ?= cargo
NPM ?= npm
PLANS := tests/data/plans
PREFIX ?= /usr/local
# Programs that cargo can make are made once, in here.
TOOLS := target/tools
CARGO_C := $(TOOLS)/bin/cargo-cinstall
CARGO_FUZZ := $(TOOLS)/bin/cargo-fuzz
# The python of the agents under test, with pytest.
PYTHON := $(TOOLS)/python/bin/python
NODE_MODULES := bindings/node_modules/.package-lock.json
FUZZ_TARGETS := entry_points operations context host import state
FUZZ_SECONDS ?= 60
# The library that is shipped: smaller, and slower to compile.
COMPACT := CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 CARGO_PROFILE_RELEASE_LTO=fat
export PATH := $(CURDIR)/$(TOOLS)/bin:$(PATH)

.PHONY: demo demo-engine demo-agent bindings test test-rust test-c test-node lint bench bench-node bench-opencode plugin soak fuzz native install packages system-tools

# In the real OpenCode, if it can be installed.
demo:
	scripts/demo

demo-engine:
	$(CARGO) run --quiet --release --example context -- $(PLANS)/testcraft.tasks.json master/34.4
	$(CARGO) run --quiet --release --example relevance -- $(PLANS)/*.tasks.json $(PLANS)/*.issues.jsonl
	$(CARGO) run --quiet --release --example store

# Both agents that manage their own memory, each with a scripted model.
demo-agent: $(PYTHON)
	scripts/demo-agent

test: lint test-rust test-c test-node

test-rust: $(PYTHON)
	$(CARGO) test --all-features
	$(CARGO) test --no-default-features --tests
	$(CARGO) package --quiet --allow-dirty

# Installs the library into a folder of its own and builds C and C++ programs on it.
test-c: system-tools $(CARGO_C)
	tests/c/run

# Everything that the npm packages need.
bindings: $(NODE_MODULES)

test-node: native $(NODE_MODULES)
	$(NPM) test --prefix bindings

lint: $(NODE_MODULES)
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets --all-features -- -D warnings
	$(CARGO) clippy --all-targets --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --all-features
	$(NPM) run lint --prefix bindings

bench:
	$(CARGO) bench

# What the engine costs through the Node package, with the figures of pure Rust beside them.
bench-node: native $(NODE_MODULES)
	$(NPM) run bench --prefix bindings

# The OpenCode plugin, built in place, and the line that loads it from here.
plugin: native $(NODE_MODULES)
	$(NPM) run --silent build --prefix bindings
	@echo 'Add to opencode.json:  "plugin": ["$(CURDIR)/bindings/opencode/dist/index.js"]'

# What the plugin costs inside of OpenCode.
bench-opencode: native $(NODE_MODULES)
	$(NPM) run bench:opencode --prefix bindings

# The shared library with the C ABI, without symbols: what the npm package ships. It is built apart from the others:
# cargo calls all of them alike.
native:
	$(COMPACT) CARGO_PROFILE_RELEASE_STRIP=symbols \
		$(CARGO) rustc --lib --crate-type cdylib --release --features capi --target-dir target/capi

# Header, static and shared library, pkg-config file: make install PREFIX=/usr/local
install: $(CARGO_C)
	$(COMPACT) $(CARGO) cinstall --release --prefix $(PREFIX) --libdir $(PREFIX)/lib --target-dir target/cinstall

# The npm packages as files, in target/npm.
packages: native $(NODE_MODULES)
	$(NPM) run packages --prefix bindings

$(NODE_MODULES): bindings/package.json bindings/node/package.json bindings/opencode/package.json
	$(NPM) install --prefix bindings
	touch $@

system-tools:
	scripts/install-system-tools

$(PYTHON): | system-tools
	python3 -m venv $(TOOLS)/python
	$(PYTHON) -m pip install --quiet pytest==9.2.0

# Without OpenSSL's headers it is built along.
$(CARGO_C):
	$(CARGO) install cargo-c --version 0.10.24+cargo-0.98.0 --locked --debug --root $(TOOLS) \
		$(shell pkg-config --exists openssl 2>/dev/null || echo --features vendored-openssl)

$(CARGO_FUZZ):
	$(CARGO) install cargo-fuzz --version 0.13.2 --locked --root $(TOOLS)

# Looks for input that makes the library panic, needs the nightly toolchain: make fuzz FUZZ_SECONDS=600
fuzz: $(CARGO_FUZZ)
	mkdir -p $(addprefix fuzz/corpus/,$(FUZZ_TARGETS))
	cp tests/data/stack-state/*.json fuzz/corpus/state
	cp tests/data/stack-state/*.json fuzz/seeds/import/* fuzz/corpus/import
	for target in $(FUZZ_TARGETS); do \
		$(CARGO) +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) -timeout=30 || exit 1; \
	done

# The long forms: a million generated cases of every invariant, thousands of commands from sixteen processes,
# hundreds of kills, a hundred thousand frames. About half an hour on two cores.
soak: export PROPTEST_CASES = 1000000
soak: export STACK_TEST_COMMANDS = 2000
soak: export STACK_TEST_KILLS = 250
soak: export STACK_TEST_FRAMES = 100000
soak:
	$(CARGO) test --profile soak --test processes --test large -- --nocapture
	$(CARGO) test --profile soak --test context_invariants --test tree_model
