# make run    the whole of dpgeo on this machine        make test      quick tests
# make help   the other targets

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run packages packages-full frontend wheel test test-list test-unit test-all test-rest test-services test-browser test-statistical test-on-servers audit lint messages lock clean

# Images of containers often set this. Every process would compile all its modules anew, and take
# three times as long to start.
unexport PYTHONDONTWRITEBYTECODE

PORT ?= 8000
SYSTEM_PYTHON ?= python3
PYTHON := .venv/bin/python
INSTALL := $(PYTHON) locks/install.py
NPM := $(PYTHON) frontend/scripts/npm.py
MANAGE := $(PYTHON) manage.py
DONE := .venv/done
LONG := statistical or browser or services
QUICK := not ($(LONG) or on_servers)
# Tests that need no server of their own run on every core.
PARALLEL := -n auto --maxprocesses 8 --dist worksteal
# Each file of browser tests has a browser of its own, and the files of a folder share an
# installation; a picture drawn in software fills a core. The folder, which takes longest, is first.
BROWSERS := -n auto --maxprocesses 2 --dist loadfile --no-loadscope-reorder
# Tests of real servers wait more than they work; each process has servers of its own.
SERVERS := -n 2 --dist loadfile
# Every pytest is given its folder: to collect the others takes each of its processes seconds.
QUICK_TESTS := tests/unit tests/conformance tests/web -m "$(QUICK)" $(PARALLEL)
STATISTICAL_TESTS := tests/statistical tests/conformance -m statistical $(PARALLEL)
BROWSER_TESTS := tests/browser -m browser $(BROWSERS)
SERVER_TESTS := tests/web -m "not ($(LONG) or one_database)" $(PARALLEL)
SERVICES_TESTS := tests/services -m services $(SERVERS)
# One file in how many of the services and browser suites is run, see tests/rotation.py.
SHARE ?= 1
PYTEST := $(PYTHON) -m pytest --durations 10
TOGETHER := $(PYTHON) -m tests.together
SOURCES := $(shell find frontend/src frontend/scripts frontend/public -type f 2>/dev/null)

help:  ## Show this
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

run: $(DONE)/run frontend  ## Install, build, publish the demo and serve it: make run PORT=8010
	@echo "  Preparing the database and the pages"
	@$(MANAGE) collectstatic --noinput -v 0
	@$(MANAGE) migrate -v 0
	@exec $(MANAGE) serve --port $(PORT) --demo

test: $(DONE)/test frontend  ## Quick tests: unit, web and conformance; ends with the ten slowest
	@$(NPM) --show test
	@$(PYTEST) $(QUICK_TESTS) $(ARGS)

test-list: $(DONE)/test frontend
	@$(PYTEST) $(QUICK_TESTS) -n 0 --collect-only -q

# With every package, so that no test is skipped for want of one.
test-unit: export DPGEO_REQUIRE_ALL := 1
test-unit: $(DONE)/full frontend
	@$(PYTEST) tests/unit -m "$(QUICK)" $(PARALLEL) $(ARGS)

test-all: export DPGEO_REQUIRE_ALL := 1
test-all: test test-list test-unit test-rest  ## Every test; a missing tool, but QGIS, is a failure

test-rest: $(DONE)/full $(DONE)/spark frontend  ## What test-all adds: long, real servers, browser; SHARE=5 runs a fifth
	@$(TOGETHER) --at-once 2 "$(MAKE) test-services" "$(MAKE) test-browser" \
	  "$(MAKE) test-on-servers" "$(MAKE) test-statistical"

test-services: $(DONE)/full $(DONE)/spark frontend
	@$(PYTEST) $(SERVICES_TESTS) --share $(SHARE) $(ARGS)

test-browser: $(DONE)/full frontend
	@$(PYTEST) $(BROWSER_TESTS) --share $(SHARE) $(ARGS)

test-statistical: $(DONE)/full
	@$(PYTEST) $(STATISTICAL_TESTS) $(ARGS)

test-on-servers: $(DONE)/full frontend
	@$(PYTHON) -m tests.servers $(PYTEST) $(SERVER_TESTS) $(ARGS)

audit: export DPGEO_AUDIT := 1
audit: $(DONE)/full $(DONE)/spark frontend  ## The long suites at their full length
	@$(PYTEST) tests/web/test_spark_source.py --timeout 7200 $(ARGS)
	@$(PYTEST) tests/conformance $(PARALLEL) $(ARGS)
	@$(PYTEST) $(STATISTICAL_TESTS) --timeout 7200 $(ARGS)
	@$(PYTHON) -m tests.audit
	@$(PYTEST) $(BROWSER_TESTS) --timeout 7200 $(ARGS)
	@$(PYTEST) $(SERVICES_TESTS) --timeout 7200 $(ARGS)
	@$(PYTHON) -m tests.servers $(PYTEST) tests/web -m "not ($(LONG))" $(PARALLEL) $(ARGS)

lint: $(DONE)/full frontend  ## Style, types, import contracts, migrations
	@$(PYTHON) -m ruff check
	@$(PYTHON) -m ruff format --check
	@$(TOGETHER) "$(PYTHON) -m mypy" ".venv/bin/lint-imports" "$(NPM) run check" \
	  "$(MANAGE) makemigrations --check --dry-run" "$(MANAGE) check --fail-level WARNING" \
	  "$(PYTHON) -m translations --check"

messages: $(DONE)/test  ## Bring the catalogues in locale/ up to date with the sources
	@$(PYTHON) -m translations

lock: | $(PYTHON)  ## Renew locks/ from pyproject.toml
	@$(INSTALL) locks/uv.txt
	@for name in run test full s3 saml spark node uv; do \
	  case $$name in test|full|s3) group="--group $$name";; \
	    saml|spark) group="--extra $$name";; *) group=;; esac; \
	  case $$name in node|uv) from=locks/$$name.in;; *) from=pyproject.toml;; esac; \
	  .venv/bin/uv pip compile $$from $$group --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-annotate --no-header -q -o locks/$$name.txt || exit 1; \
	done

wheel: $(DONE)/run frontend  ## Build dist/dpgeo-VERSION-py3-none-any.whl, which needs no Node.js where it is installed
	@$(PYTHON) -m pip wheel -q --no-deps -w dist .
	@ls dist/*.whl

clean:  ## Remove what can be built again; data in var/ and the packages stay
	@rm -rf frontend/dist dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

packages: $(DONE)/run

packages-full: $(DONE)/full $(DONE)/spark  ## Install what test-all, lint and the benchmarks need

$(PYTHON):
	@$(SYSTEM_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "dpgeo needs Python 3.11 or newer: make run SYSTEM_PYTHON=python3.12" >&2; exit 1; }
	@$(SYSTEM_PYTHON) -c 'import sys; sys.exit(sys.version_info >= (3, 14))' || \
	  echo "  This Python is newer than those that dpgeo is tested on, 3.11 to 3.13" >&2
	@echo "  Making a Python environment in .venv"
	@$(SYSTEM_PYTHON) -m venv .venv

$(DONE)/%: locks/%.txt | $(PYTHON)
	@echo "  Installing Python packages from $<"
	@$(INSTALL) $<
	@mkdir -p $(DONE) && touch $@

frontend: frontend/dist/manifest.json

frontend/node_modules/.package-lock.json: frontend/package-lock.json | $(PYTHON)
	@echo "  Installing the map's packages"
	@$(NPM) ci
	@touch $@

frontend/dist/manifest.json: frontend/node_modules/.package-lock.json $(SOURCES) \
    frontend/package.json frontend/vite.config.ts frontend/tsconfig.json
	@echo "  Building the map's scripts"
	@$(NPM) run build
	@touch $@
