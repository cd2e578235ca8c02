# `make` alone lists the targets. A target installs what it needs: nothing has to be run first.
.DEFAULT_GOAL := help
.PHONY: help setup demo test check lint format pictures web bench deep soak dist fresh lock clean
.DELETE_ON_ERROR:

PYTHON ?= python3
# Tests start many processes, and pytest rewrites each module of theirs: once is enough.
unexport PYTHONDONTWRITEBYTECODE
# Twice the two cores of CI: many tests wait for a disk, a JVM or a clock.
WORKERS ?= 4
# Passed on to the program: make bench ONLY=run ARGS="--help"
ARGS ?=
ONLY ?= languages start recall analytics commits writers changes search run queries shapes policy load upsert merge_load spark_queries serve

BIN := .venv/bin
READY := .venv/.ready
BENCH_READY := .bench/.ready

# loadgroup sends all tests marked xdist_group("spark") to one worker: one JVM, one session. Those
# marked "cluster" share a cluster on another.
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist loadgroup

PYTHON_IS_NEW_ENOUGH = @$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo 'OmniGraph needs Python 3.11 or newer, and "$(PYTHON)" is not.' >&2; \
	echo 'Name another interpreter: make PYTHON=python3.12 ...' >&2; exit 1; }

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## install the project and its tools into .venv, from the lock

demo: $(READY) ## load the sample graph and walk through queries, a branch, a merge and a server; it stays in demo/
	rm -rf demo
	$(BIN)/omnigraph demo $(or $(ARGS),demo)

test: lint ## lint, then every test, Spark and a browser included
	.ci/chromium
	$(PYTEST)

check: lint ## lint, then the tests that show most for a second: within three minutes
	$(PYTEST) --quick

lint: $(READY) ## formatting, ruff, mypy, who may import whom, and the site of the documentation, in site/
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) --no-print-directory --jobs=2 --output-sync lint-types lint-rest

.PHONY: lint-types lint-rest
# mypy takes a core for as long as all the others together.
lint-types:
	$(BIN)/mypy

lint-rest:
	$(BIN)/lint-imports --no-logo
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

format: $(READY) ## rewrite the code in the house style
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

pictures: $(READY) ## draw the terminal pictures of the documentation anew, from runs of today
	$(BIN)/pytest -q -n 0 --bless tests/house/test_pictures.py

web: $(READY) ## build the page of the Explorer from web/ into the package; it is checked in
	.ci/web

bench: $(BENCH_READY) ## measure ourselves beside other systems, in .bench (ONLY=run ARGS="--size M")
	for each in $(ONLY); do .bench/bin/python -m bench.$$each $(ARGS) || exit 1; done

deep: $(READY) ## whole matrices, and more random runs than in a test
	.ci/chromium
	$(PYTEST) --deep --timeout 1800

soak: $(READY) ## all that is deep, ten times as long: hours
	$(PYTEST) --soak --timeout 14400

dist: $(READY) ## build wheel and sdist into dist/, and take the first steps with each in an empty environment
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	.ci/installed

fresh: ## demo and test in a clean clone with an empty home and no Java
	PYTHON='$(PYTHON)' .ci/fresh

lock: $(BIN)/uv ## resolve pyproject.toml again, keeping pins that still fit (UPGRADE=1 moves them all)
	$(LOCK) --extra spark --extra local-embed --extra mcp --extra server --group dev pyproject.toml --output-file requirements.lock
	echo uv | $(LOCK) --no-annotate --constraint requirements.lock - --output-file requirements-tools.lock
	$(LOCK) --extra spark --extra server --constraint requirements.lock pyproject.toml bench/requirements.in \
		--output-file bench/requirements.lock

clean: ## remove everything that was installed or built
	rm -rf .venv .bench .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build demo dist site web/node_modules
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# One version of each package for every Python we support, so that all of them test the same thing.
LOCK := $(BIN)/uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 \
	--generate-hashes --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

# pyspark comes as source: the build constraint holds what builds it to the hashes of the lock too.
SYNC := $(BIN)/uv pip sync --require-hashes --build-constraint requirements.lock
# Some environments forbid writing bytecode later; every start would then compile what it imports,
# which takes two seconds. A package may ship files that are no Python of ours: never mind those.
COMPILE := $(BIN)/python -m compileall -qq -j 0 .venv/lib src || true
INSTALL_US := $(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .

$(READY): pyproject.toml requirements.lock $(BIN)/uv
	$(SYNC) --python $(BIN)/python requirements.lock
	$(INSTALL_US) --python $(BIN)/python
	$(COMPILE)
	@touch $@

$(BIN)/uv: requirements-tools.lock
	$(PYTHON_IS_NEW_ENOUGH)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-tools.lock
	@touch $@

$(BENCH_READY): pyproject.toml bench/requirements.lock $(BIN)/uv
	$(PYTHON_IS_NEW_ENOUGH)
	test -x .bench/bin/python || $(PYTHON) -m venv --without-pip .bench
	$(SYNC) --python .bench/bin/python bench/requirements.lock
	$(INSTALL_US) --python .bench/bin/python
	@touch $@
