# demo: the main job on a real plan. test: everything that CI checks. See README.md.
CARGO ?= cargo
PLANS := tests/data/plans

.PHONY: demo test lint bench soak

demo:
	$(CARGO) run --quiet --release --example context -- $(PLANS)/testcraft.tasks.json master/34.4
	$(CARGO) run --quiet --release --example relevance -- $(PLANS)/*.tasks.json $(PLANS)/*.issues.jsonl
	$(CARGO) run --quiet --release --example store

test: lint
	$(CARGO) test --all-features
	$(CARGO) test --no-default-features --tests
	$(CARGO) package --quiet --allow-dirty

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets --all-features -- -D warnings
	$(CARGO) clippy --all-targets --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --all-features

bench:
	$(CARGO) bench

# The long forms: a million generated cases of every invariant, thousands of commands from sixteen processes,
# hundreds of kills, a hundred thousand frames. About half an hour on two cores.
soak: export PROPTEST_CASES = 1000000
soak: export STACK_TEST_COMMANDS = 2000
soak: export STACK_TEST_KILLS = 250
soak: export STACK_TEST_FRAMES = 100000
soak:
	$(CARGO) test --profile soak --test processes --test large -- --nocapture
	$(CARGO) test --profile soak --test context_invariants --test tree_model
