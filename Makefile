# Two commands do everything on a fresh Debian or Ubuntu machine with Python 3.11: `make demo` and `make test`.

PYTHON ?= python3.11
VENV ?= .venv
RUN := $(VENV)/bin

.PHONY: demo test setup setup-test check wheel-check bench clean

demo: setup
	$(RUN)/gym-grounding demo --out runs/demo

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
	PYTHON="$(PYTHON)" .ci/setup "$(VENV)" ".[policies,dev]"
	@touch $@ $(VENV)/.base

clean:
	rm -rf $(VENV) runs dist build
