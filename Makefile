# make run    the whole of dpgeo on this machine        make test      quick tests
# make help   the other targets

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run packages packages-full frontend test test-all test-rest audit lint messages lock clean

PORT ?= 8000
SYSTEM_PYTHON ?= python3
PYTHON := .venv/bin/python
PIP := $(PYTHON) -m pip install -qq --disable-pip-version-check --no-input --require-hashes
NPM := $(PYTHON) frontend/scripts/npm.py
MANAGE := $(PYTHON) manage.py
DONE := .venv/done
QUICK := not statistical and not browser and not services
# Tests that need no server of their own run on every core.
PARALLEL := -n auto --maxprocesses 8 --dist worksteal
# Each file of browser tests has a browser of its own; a picture drawn in software fills a core.
BROWSERS := -n auto --maxprocesses 2 --dist loadfile
SOURCES := $(shell find frontend/src frontend/scripts frontend/public -type f 2>/dev/null)

help:  ## Show this
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

run: $(DONE)/run frontend  ## Install, build, make the demo city and serve it: make run PORT=8010
	@$(MANAGE) collectstatic --noinput -v 0
	@$(MANAGE) migrate -v 0
	@exec $(MANAGE) serve --port $(PORT) --demo

test: $(DONE)/test frontend  ## Quick tests: unit, web and conformance
	@$(NPM) --show test
	@$(PYTHON) -m pytest -m "$(QUICK)" $(PARALLEL) $(ARGS)

test-all: export DPGEO_REQUIRE_ALL := 1
test-all: test test-rest  ## Every test; a missing tool, but QGIS, is a failure

test-rest: $(DONE)/full frontend  ## What test-all adds: long, real servers, browser
	@$(PYTHON) -m pytest -m statistical $(PARALLEL) $(ARGS)
	@$(PYTHON) -m pytest -m browser $(BROWSERS) $(ARGS)
	@$(PYTHON) -m pytest -m services $(ARGS)
	@$(PYTHON) -m tests.servers $(PYTHON) -m pytest tests/web -m "$(QUICK)" $(PARALLEL) $(ARGS)

audit: export DPGEO_AUDIT := 1
audit: $(DONE)/full frontend  ## The long suites at their full length
	@$(PYTHON) -m pytest -m statistical --timeout 7200 $(PARALLEL) $(ARGS)
	@$(PYTHON) -m pytest -m browser --timeout 7200 $(BROWSERS) $(ARGS)
	@$(PYTHON) -m pytest -m services --timeout 7200 $(ARGS)

lint: $(DONE)/full frontend  ## Style, types, import contracts, migrations
	@$(PYTHON) -m ruff check
	@$(PYTHON) -m ruff format --check
	@$(PYTHON) -m mypy
	@.venv/bin/lint-imports
	@$(MANAGE) makemigrations --check --dry-run
	@$(MANAGE) check --fail-level WARNING
	@$(PYTHON) -m translations --check
	@$(NPM) run check

messages: $(DONE)/test  ## Bring the catalogues in locale/ up to date with the sources
	@$(PYTHON) -m translations

lock:  ## Renew locks/ from pyproject.toml (needs uv)
	@for name in run test full s3 node; do \
	  case $$name in test|full|s3) group="--group $$name";; *) group=;; esac; \
	  case $$name in node) from=locks/node.in;; *) from=pyproject.toml;; esac; \
	  uv pip compile $$from $$group --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-annotate --no-header -q -o locks/$$name.txt || exit 1; \
	done

clean:  ## Remove what can be built again; data in var/ and the packages stay
	@rm -rf frontend/dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

packages: $(DONE)/run

packages-full: $(DONE)/full  ## Install what test-all, lint and the benchmarks need

$(PYTHON):
	@$(SYSTEM_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "dpgeo needs Python 3.11 or newer: make run SYSTEM_PYTHON=python3.12" >&2; exit 1; }
	@echo "  Making a Python environment in .venv"
	@$(SYSTEM_PYTHON) -m venv .venv

$(DONE)/%: locks/%.txt | $(PYTHON)
	@echo "  Installing Python packages from $<"
	@$(PIP) -r $<
	@mkdir -p $(DONE) && touch $@

frontend: frontend/dist/manifest.json

frontend/node_modules/.package-lock.json: frontend/package-lock.json | $(PYTHON)
	@echo "  Installing the map's packages"
	@$(NPM) ci
	@touch $@

frontend/dist/manifest.json: frontend/node_modules/.package-lock.json $(SOURCES) \
    frontend/package.json frontend/vite.config.ts frontend/tsconfig.json
	@echo "  Building the map"
	@$(NPM) run build
	@touch $@
