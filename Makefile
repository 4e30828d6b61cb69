# Two commands for a newcomer: `make demo` and `make test`. `make help` lists the others.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
AB := $(VENV)/bin/agentbench
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/agentbench/__init__.py)
# Arguments for pytest: make test ARGS='-k gateway'
ARGS ?=

.PHONY: help demo test test-all test-rest soak lint docs site wheel release image clean

help:
	@echo "make demo      run the shipped tasks with the reference solutions (a minute or two)"
	@echo "make test      run the quick tests and try each sandbox of this machine (about three minutes)"
	@echo "make test-all  run all tests of the gate (about 18 minutes)"
	@echo "make soak      run all tests with all their repetitions (hours)"
	@echo "               ARGS='-k gateway' passes arguments to pytest"
	@echo "make lint      ruff, mypy --strict, import-linter"
	@echo "make docs      write the generated documents again"
	@echo "make site      build the site of docs/ into build/site"
	@echo "make wheel     build the wheel into dist/"
	@echo "make release   build the wheel and the list of what it installs (SBOM, CycloneDX) into dist/"
	@echo "make image     build an image of agentbench; BASE=python:3.11-slim is what it starts from"

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
	@echo 'to use agentbench in this shell: . $(VENV)/bin/activate'

test: $(VENV)/installed-dev
	$(VENV)/bin/python -m tests.run quick $(ARGS)

test-all: $(VENV)/installed-dev
	$(VENV)/bin/python -m tests.run full $(ARGS)

test-rest: $(VENV)/installed-dev # what `make test` leaves to `make test-all`
	$(VENV)/bin/python -m tests.run full --without quick $(ARGS)

soak: $(VENV)/installed-dev
	AGENTBENCH_REQUIRE_DOCKER=1 $(VENV)/bin/python -m tests.run soak -rP $(ARGS)

lint: $(VENV)/installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

docs: $(VENV)/installed-dev
	$(VENV)/bin/python -m agentbench.report.taxonomy_page > docs/failure_taxonomy.md
	$(VENV)/bin/python -m agentbench.report.json_documents docs/schema
	$(VENV)/bin/python -m agentbench.extensions.export.row_schema docs/schema
	$(VENV)/bin/python benchmarks/performance_page.py > docs/performance.md
	$(VENV)/bin/python -m benchmarks.graders.page > docs/graders.md

site: $(VENV)/installed-dev
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict

wheel: $(VENV)/installed-dev
	$(VENV)/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# The list names what pip installs with the wheel into an empty environment on this day.
release:
	rm -rf build/release
	$(MAKE) wheel
	$(PYTHON) -m venv build/release/tool
	$(PYTHON) -m venv --without-pip build/release/installed
	build/release/tool/bin/python -m pip install --quiet --disable-pip-version-check 'cyclonedx-bom>=7,<8'
	build/release/tool/bin/python -m pip --python build/release/installed install --quiet \
		--disable-pip-version-check dist/agentbench_verdict-$(VERSION)-py3-none-any.whl
	sed 's/^dynamic = .*/version = "$(VERSION)"/' pyproject.toml >build/release/pyproject.toml
	build/release/tool/bin/cyclonedx-py environment --output-reproducible --pyproject build/release/pyproject.toml \
		--output-file dist/agentbench_verdict-$(VERSION).cdx.json build/release/installed

# The wheels of pip are for the Python of this environment, which has to be that of the base image.
BASE ?= python:3.11-slim
image: $(VENV)/installed
	rm -rf build/image
	$(VENV)/bin/python -m pip wheel --quiet --wheel-dir build/image/wheels '.[report]'
	cp container/Dockerfile build/image/
	docker build --quiet --tag agentbench/agentbench --build-arg BASE=$(BASE) build/image

clean:
	rm -rf $(VENV) dist build test-output .pytest_cache .mypy_cache .ruff_cache
