# Two commands do everything on a fresh Debian or Ubuntu machine with Python 3.11: `make demo` and `make test`.

PYTHON ?= python3.11
VENV ?= .venv
RUN := $(VENV)/bin
WORKERS ?= $(shell nproc)

# Tasks 1, 4 and 8 are the ones that the scripted policies can do, taken as a sequence of three stages; 200 steps are
# twice what they need.
DEMO := --suite LiberoGoal --order 1,4,8 --stages all --init-states 0:3 --horizon 200
SCRIPTED := gym_grounding_policies.scripted

.PHONY: demo test setup setup-test check bench clean

demo: setup
	$(RUN)/gym-grounding evaluate --policy $(SCRIPTED):DEAF --name deaf $(DEMO) --workers $(WORKERS) --out runs/demo/deaf
	$(RUN)/gym-grounding evaluate --policy $(SCRIPTED):LISTENING --name listening $(DEMO) --workers $(WORKERS) --out runs/demo/listening
	$(RUN)/gym-grounding observe --policy $(SCRIPTED):LISTENING --expert --every 20 $(DEMO) --out runs/demo/observations.npz
	$(RUN)/gym-grounding probe runs/demo/deaf --observations runs/demo/observations.npz
	$(RUN)/gym-grounding probe runs/demo/listening --observations runs/demo/observations.npz
	$(RUN)/gym-grounding report runs/demo/deaf runs/demo/listening --out runs/demo/report

test: check
	$(RUN)/python -m pytest -q -m "not sim" -n 2
	$(RUN)/python -m pytest -q -m sim -n 2 --dist loadgroup

check: setup-test
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy
	$(RUN)/lint-imports

bench: setup
	$(RUN)/python benchmarks/steps.py

setup: $(VENV)/.base
setup-test: $(VENV)/.full

$(VENV)/.base: pyproject.toml constraints.txt .ci/setup
	PYTHON="$(PYTHON)" .ci/setup "$(VENV)" .
	@touch $@

$(VENV)/.full: pyproject.toml constraints.txt .ci/setup
	PYTHON="$(PYTHON)" .ci/setup "$(VENV)" ".[policies,audit,dev]"
	@touch $@ $(VENV)/.base

clean:
	rm -rf $(VENV) runs dist build
