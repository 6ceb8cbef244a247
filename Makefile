# Two commands do everything on a fresh Debian or Ubuntu machine with Python 3.11: `make demo` and `make test`.

PYTHON ?= python3.11
VENV ?= .venv
RUN := $(VENV)/bin
WORKERS ?= $(shell nproc)

# Three tasks of which the oracle reaches every contrast, taken as a sequence of three stages; 150 steps are almost twice
# what the longest needs.
DEMO := --suite LiberoGoal --order 0,1,8 --stages all --init-states 0:3 --horizon 150
POLICIES := deaf oracle
RUNS := $(addprefix runs/demo/,$(POLICIES))

.PHONY: demo test setup setup-test check bench clean

demo: setup
	for policy in $(POLICIES); do $(RUN)/gym-grounding evaluate --policy $$policy $(DEMO) --workers $(WORKERS) --out runs/demo/$$policy || exit; done
	$(RUN)/gym-grounding observe --policy oracle --every 40 $(DEMO) --out runs/demo/observations.npz
	for run in $(RUNS); do $(RUN)/gym-grounding probe $$run --observations runs/demo/observations.npz || exit; done
	$(RUN)/gym-grounding report $(RUNS) --out runs/demo/report

test: check
	$(RUN)/python -m pytest -q -m "not sim" -n 2
	$(RUN)/python -m pytest -q -m sim -n 2 --dist loadgroup

check: setup-test
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy
	$(RUN)/lint-imports

bench: setup
	$(RUN)/python benchmarks/table.py

setup: $(VENV)/.base
setup-test: $(VENV)/.full

$(VENV)/.base: pyproject.toml constraints.txt .ci/setup
	PYTHON="$(PYTHON)" .ci/setup "$(VENV)" .
	@touch $@

$(VENV)/.full: pyproject.toml constraints.txt .ci/setup
	PYTHON="$(PYTHON)" .ci/setup "$(VENV)" ".[policies,audit,minari,dev]"
	@touch $@ $(VENV)/.base

clean:
	rm -rf $(VENV) runs dist build
