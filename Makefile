# Two commands for a newcomer: `make demo` and `make test`. `make help` lists the others.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
AB := $(VENV)/bin/agentbench
# Tests wait for sandboxes much of the time, so that a core has work for two workers.
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
WORKERS := $(shell n=$$(( 2 * $(CORES) )); echo $$(( n < 8 ? n : 8 )))

.PHONY: help demo test soak lint docs wheel clean

help:
	@echo "make demo   run the shipped tasks with the reference solutions (a minute or two)"
	@echo "make test   run the tests; those that need Docker are skipped where no engine answers"
	@echo "make soak   every fault of tests/chaos as often as it takes to believe it: some hours"
	@echo "make lint   ruff, mypy --strict, import-linter"
	@echo "make docs   write the generated documents again"
	@echo "make wheel  build the wheel into dist/"

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "expected $(PYTHON) on PATH, found none; install Python 3.11 or newer"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "expected Python 3.11 or newer, found $$($(PYTHON) --version); try: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "python3 -m venv does not work; on Debian and Ubuntu: apt install python3-venv"; rm -rf $(VENV); exit 1; }

$(VENV)/installed: $(VENV)/bin/python pyproject.toml
	@echo "installing agentbench into $(VENV) …"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e .
	@$(VENV)/bin/python -m compileall -q src # as pip does with what it copies: starts are shorter
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	@echo "installing what the tests need …"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

# The strongest sandbox there is. With an engine the base image is made first (about a minute);
# where that cannot be done, bubblewrap does, and where that does not work either, processes do.
demo: $(VENV)/installed
	@if $(AB) images build; then $(AB) run tasks/ --agent oracle; else \
	  echo "no Docker sandbox here, going on without"; \
	  $(AB) run tasks/ --agent oracle --sandbox bubblewrap || { code=$$?; \
	    test $$code -eq 69 || exit $$code; $(AB) run tasks/ --agent oracle --sandbox process; }; \
	fi

test: $(VENV)/installed-dev
	$(VENV)/bin/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 15

soak: $(VENV)/installed-dev
	AGENTBENCH_SOAK=1 AGENTBENCH_REQUIRE_DOCKER=1 $(VENV)/bin/python -m pytest -rP tests/chaos \
	  tests/e2e/test_wrong_fixes.py tests/e2e/test_wrong_fixes_honest.py

lint: $(VENV)/installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

docs: $(VENV)/installed-dev
	$(VENV)/bin/python -m agentbench.report.taxonomy_page > docs/failure_taxonomy.md
	$(VENV)/bin/python -m agentbench.report.schemas docs/schema
	$(VENV)/bin/python benchmarks/performance_page.py > docs/performance.md

wheel: $(VENV)/installed-dev
	$(VENV)/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache
