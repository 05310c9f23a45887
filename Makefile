# Everything sets itself up: `make run` in a fresh clone is enough. `make help` lists the targets.

SHELL := /bin/bash
.DEFAULT_GOAL := help
# Measurements must not disturb each other, and the rest is quick. Tests share the CPUs by groups
# (tests/suite_groups.py says which).
.NOTPARALLEL:

PYTHON_IN_VENV := .venv/bin/python
WHYLATE := .venv/bin/whylate
ARCHS := x86_64 aarch64 armv7 riscv64
# Passed on: make test ARGS='-k wheel', make bench-ten_khz ARGS=--help
ARGS :=

.PHONY: docs verify fuzz truth calibration help lab setup setup-dev setup-bench native-probe probes run test test-quick lint format schema \
	bpf wheel bench constraints clean distclean

help: ## this list
	@sed -nE 's/^([a-z][a-zA-Z_-]*%?):[^#]*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | \
		while IFS=$$'\t' read -r target text; do printf 'make %-12s %s\n' "$$target" "$$text"; done

setup: native-probe ## what running needs: .venv with whylate in it, and the probe

setup-dev: ## also what test, lint, wheel and bench need
	@tools/setup.sh dev

setup-bench:
	@tools/setup.sh bench

native-probe:
	@tools/setup.sh run
	@$(PYTHON_IN_VENV) tools/build_probes.py native

probes: setup-dev ## build the probe for x86_64, aarch64, armv7 and riscv64
	@$(PYTHON_IN_VENV) tools/build_probes.py $(ARCHS)

# The status of a run without a verdict is a failure here too, but not one of the build.
run: native-probe ## measure this machine for 20 s under load
	@$(WHYLATE) measure local --for 20s --load memory --load switch --load net $(ARGS) || { \
		status=$$?; \
		[ $$status != 3 ] || echo "make run: there is no verdict, for the reasons above;" \
			"$(WHYLATE) doctor says what to change here" >&2; \
		exit $$status; }

lab: setup-dev probes build/pairs/one-line/ours.tar ## fetch kernels and make the images of all virtual boards
	@$(WHYLATE) lab build $(if $(filter lab,$(MAKECMDGOALS)),$(ARGS))

# Not on every system has apt a mirror of Debian: tests that need the packages skip there.
build/pairs/one-line/ours.tar: lab/pairs/one-line/recipe.toml | setup-dev probes
	-@$(WHYLATE) lab pair one-line -o $(@D)

PYTEST := $(PYTHON_IN_VENV) -m pytest --dist loadgroup --no-loadscope-reorder

# Tests start whylate a thousand times, and each worker reads all tests.
unexport PYTHONDONTWRITEBYTECODE

test: setup-dev probes lab ## all tests (ARGS='-k wheel' for some)
	@$(PYTHON_IN_VENV) -m compileall -q src
	@# More workers than a small machine has CPUs: tests wait for a part of their time.
	@# What failed at first is shown with its failure, and looked into.
	@$(PYTEST) -n 5 --reruns 1 $(ARGS)

# What computes, what agrees between files, and one measurement of this machine; no browser.
QUICK := $(addprefix tests/,causes compare house predict recording report stats summary wire \
	test_files.py test_quantities.py test_repository.py test_text.py run/test_accounting_truth.py)

test-quick: setup-dev native-probe ## what computes, and one measurement: the loop while one works
	@$(PYTHON_IN_VENV) -m compileall -q src
	@$(PYTEST) -n auto $(QUICK) --ignore-glob='*_in_browser.py' $(ARGS)

lint: setup-dev probes ## what must be clean before a commit
	$(PYTHON_IN_VENV) tools/wiregen.py --check
	$(PYTHON_IN_VENV) tools/bpfgen.py --check
	@# Without a cache: which imports are our own depends on other files than the checked one.
	.venv/bin/ruff check --no-cache
	.venv/bin/ruff format --check
	.venv/bin/mypy
	find probe lab remedies -name '*.[ch]' -exec .venv/bin/clang-format --dry-run -Werror {} +

format: setup-dev ## write Python and C as the formatters want them
	.venv/bin/ruff check --fix-only
	.venv/bin/ruff format
	find probe lab remedies -name '*.[ch]' -exec .venv/bin/clang-format -i {} +

docs: setup-dev ## build the documentation site into build/docs; a broken link is an error
	@$(PYTHON_IN_VENV) -m sphinx -q -W --keep-going -b html docs build/docs

schema: setup-dev ## write both ends of the wire from schema/wire.toml
	@$(PYTHON_IN_VENV) tools/wiregen.py

bpf: setup-dev ## compile the flight recorder's BPF programs (needs clang)
	@$(PYTHON_IN_VENV) tools/bpfgen.py

truth: setup-dev probes lab ## is `whylate explain` right? Hours; ARGS='--for 90m' goes on another time
	@$(PYTHON_IN_VENV) bench/truth/truth.py $(ARGS)

calibration: setup-bench ## do verdicts and searches err as often as they say? Two hours; goes on another time
	@$(PYTHON_IN_VENV) bench/calibrate_compare.py --write $(ARGS)
	@[ -d build/bench/git_bayesect ] || $(PYTHON_IN_VENV) -m pip install -q --disable-pip-version-check \
		--no-deps --target build/bench/git_bayesect git_bayesect==1.2
	@nice -n 15 $(PYTHON_IN_VENV) bench/calibrate_ordered_search.py --write $(ARGS)
	@nice -n 15 $(PYTHON_IN_VENV) bench/calibrate_search.py --write $(ARGS)

verify: setup-dev ## the long checks of remedies/: models, Relacy, ThreadSanitizer, mutants; an hour and more
	@nice -n 19 $(PYTHON_IN_VENV) remedies/verify/verify.py
	@nice -n 19 $(PYTHON_IN_VENV) remedies/verify/mutants.py

fuzz: setup-dev native-probe ## damaged input for a minute each; ARGS='frames --for 3600' for one
	@nice -n 19 $(PYTHON_IN_VENV) tests/fuzz/fuzz.py $(ARGS)

wheel: setup-dev probes ## dist/whylate-VERSION-py3-none-any.whl with all four probes
	@$(PYTHON_IN_VENV) -m hatchling build -t wheel -d dist

bench: bench-cyclictest bench-ten_million bench-ten_khz ## the benchmarks, one after the other

bench-%: setup-bench native-probe ## one of bench/*.py: make bench-ten_khz
	@[ -f bench/$*.py ] || { echo "there is no bench/$*.py: there are" \
		$$(cd bench && grep -l __main__ -- *.py | sed 's/\.py$$//') >&2; exit 2; }
	$(PYTHON_IN_VENV) bench/$*.py $(ARGS)

constraints: ## resolve all Python packages anew and write constraints.txt
	@tools/setup.sh dev
	rm -rf build/constraints
	$(PYTHON_IN_VENV) -m venv build/constraints
	build/constraints/bin/python -m pip install -q --disable-pip-version-check ".[dev]"
	build/constraints/bin/python -m pip freeze --exclude whylate > build/constraints.txt
	{ sed -n '/^#/p' constraints.txt; cat build/constraints.txt; } > build/constraints.new
	mv build/constraints.new constraints.txt

clean: ## remove what was built; .venv and recordings stay
	rm -rf build dist src/whylate/probe/binaries .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests tools bench -name __pycache__ -prune -exec rm -rf {} +

distclean: clean ## and .venv
	rm -rf .venv
