# demo: the main job on a real plan. test: everything that CI checks. See README.md.
CARGO ?= cargo
PLANS := tests/data/plans

.PHONY: demo test lint bench soak

demo:
	$(CARGO) run --quiet --release --example context -- $(PLANS)/testcraft.tasks.json master/34.4
	$(CARGO) run --quiet --release --example relevance -- $(PLANS)/*.tasks.json $(PLANS)/*.issues.jsonl

test: lint
	$(CARGO) test
	$(CARGO) test --all-features
	$(CARGO) package --quiet --allow-dirty

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --all-features

bench:
	$(CARGO) bench

# A million generated cases of every invariant; about twenty minutes on two cores.
soak:
	PROPTEST_CASES=1000000 $(CARGO) test --profile soak --test context_invariants --test tree_model
