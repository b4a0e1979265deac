# One command a task; `make help` lists them.
# The first that is there and runs.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p --version >/dev/null 2>&1 && echo $$p && break; done)
PYTEST_ARGS ?=

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input
SETUP_STAMP := $(VENV)/.stamp-setup
BENCH_STAMP := $(VENV)/.stamp-bench
DOCS_STAMP := $(VENV)/.stamp-docs

.DEFAULT_GOAL := help
.PHONY: setup demo test test-fast test-portable test-slow attack check bench bench-all arena reproduce examples docs docs-site clean help

setup: $(SETUP_STAMP)  ## create .venv and install the project with its plots, test and dev tools

$(SETUP_STAMP): pyproject.toml constraints.txt
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PIP) install -qq -c constraints.txt -e ".[plots,test,dev]"
	@touch $@

$(BENCH_STAMP): $(SETUP_STAMP)
	$(PIP) install -qq -c constraints.txt -e ".[bench]"
	@touch $@

$(DOCS_STAMP): $(SETUP_STAMP)
	$(PIP) install -qq -c constraints.txt -e ".[docs]"
	@touch $@

demo: setup  ## run the demonstration
	$(PY) -m directgp.report.demo_picture

# Bytecode that one worker, child process or run has written is read by the next, even where the shell
# asks for none: without it two fifths of the start of a worker are compiling Python.
test test-fast test-portable test-slow docs: export PYTHONDONTWRITEBYTECODE =

test: setup  ## run the tests and doctests, without the slow ones
	$(PY) -m pytest -m "not slow" -n 2 --dist worksteal $(PYTEST_ARGS)

test-fast: setup  ## run the tests that neither train nor compile for long: about a minute
	$(PY) -m pytest -m "not slow and not heavy" -n 2 --dist worksteal $(PYTEST_ARGS)

test-portable: setup  ## run the same tests without machine code, as on other platforms
	DIRECTGP_NATIVE=off $(PY) -m pytest -m "not slow" -n 2 --dist worksteal $(PYTEST_ARGS)

test-slow: setup  ## run only the slow tests
	$(PY) -m pytest -m slow $(PYTEST_ARGS)

attack: setup  ## hostile files, costs, tables, numbers, interruptions, processes: counts (half an hour)
	$(PY) -m tests.attack

check: setup  ## lint, check the format, check the types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m pyright

bench: $(BENCH_STAMP)  ## measure speed against peer libraries (installs torch)
	$(PY) -m benchmarks
	$(PY) -m benchmarks.page

bench-all: $(BENCH_STAMP)  ## every section of docs/benchmarks.md: under an hour, real data in DIRECTGP_DATA
	$(PY) -m benchmarks --only all
	$(PY) -m benchmarks.page

arena: setup  ## defaults beside their peers on real tables: hours, goes on where it was stopped
	$(PIP) install -qq -c constraints.txt -e ".[arena]"
	$(PY) -m benchmarks.arena run
	$(PY) -m benchmarks.arena page

reproduce: setup  ## every table and figure of the papers, quick: an hour, real data in DIRECTGP_DATA
	mkdir -p build/reproduction
	$(PY) -m experiments run --quick --store build/reproduction.sqlite --page build/reproduction

examples: setup  ## run the scripts of examples/: a minute or two
	set -e; for script in examples/*.py; do echo "== $$script"; $(PY) $$script; done

docs-site: $(DOCS_STAMP)  ## build the documentation site in build/site; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

docs: setup  ## run every example in the documentation and the docstrings
	$(PY) -m pytest tests/test_docs.py src experiments $(PYTEST_ARGS)

clean:  ## remove caches and build outputs (keeps .venv)
	rm -rf build dist .pytest_cache .ruff_cache .hypothesis
	find . -path ./$(VENV) -prune -o -type d -name __pycache__ -exec rm -rf {} +

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile
