# Everything runs in .venv, which is made from requirements.lock. `make` alone lists the targets.

PYTHON ?= python3
BIN := .venv/bin
BENCH_BIN := .venv-bench/bin
PYTEST_ARGS ?= -n 2 --dist loadgroup
FAST = $(if $(REQUIRE_SERVICES),,-m "not slow")
BENCH_ARGS ?=
DATA ?= data
TABLES_ARGS ?=
TRAIN_ARGS ?=
UPGRADE ?=

.DEFAULT_GOAL := help
.PHONY: help demo test live services check format bench tables bundle docs lock clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/installed  ## index 600 abstracts into ./.indexer-demo, show topics, search, phrases, a document
	@$(BIN)/indexer demo

test: .venv/installed $(if $(REQUIRE_SERVICES),services)  ## run the fast tests; with REQUIRE_SERVICES=1 all: slow and live ones too
	@$(BIN)/pytest $(FAST) $(PYTEST_ARGS)

live: .venv/installed  ## run the tests that need real servers, which they start themselves
	@$(BIN)/pytest -m live $(PYTEST_ARGS)

services: .venv/installed  ## install what these servers need, by apt, as root
	@PYTHONPATH=tests $(BIN)/python -m services.install

check: .venv/installed  ## check format, lint and types, then run the fast tests
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/pytest $(FAST) $(PYTEST_ARGS)

format: .venv/installed  ## format the code and sort the imports
	@$(BIN)/ruff check --select I --fix .
	@$(BIN)/ruff format .

bench: .venv-bench/installed  ## compare with KeyBERT and BERTopic; BENCH_ARGS="--help" lists the options
	@$(BENCH_BIN)/python -m benchmarks.run $(BENCH_ARGS)

tables: .venv/installed  ## measure everything that files in DATA allow, and write docs/results.md
	@$(BIN)/python -m benchmarks.tables --data "$(DATA)" $(TABLES_ARGS)

# Texts whose licences let the weights be shipped.
TEXTS = $(foreach name,arxiv_abstracts medical_abstracts sotu_paragraphs,\
	--corpus $(firstword $(shell find -L "$(DATA)" -name "$(name).jsonl*")))
LICENCE = Apache-2.0 (the base model). Trained on arXiv titles and abstracts (CC0 1.0), State of the Union addresses \
	(public domain) and medical abstracts (CC BY-SA 3.0)

bundle: .venv/installed  ## train the shipped encoder anew, from the texts in DATA
	@$(BIN)/indexer --home build/bundle --bundle minilm-base train uctopic $(TEXTS) --name minilm-phrases \
		--licence "$(strip $(LICENCE))" $(TRAIN_ARGS)
	@rm -rf models/bundles/minilm-phrases
	@cp -r build/bundle/bundles/minilm-phrases models/bundles/

docs: .venv/installed  ## write docs/commands.md from the help of the commands
	@$(BIN)/python -m tools.command_reference

# The lock files hold versions and hashes for Linux and macOS, and no address.
# Versions stay where they can; `make lock UPGRADE=--upgrade` takes the newest ones.
COMPILE = $(BIN)/uv pip compile pyproject.toml --quiet $(UPGRADE) --universal --python-version 3.11 \
	--generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

lock: .venv/installed  ## write both lock files anew from pyproject.toml
	@$(COMPILE) --extra dev --extra parquet --extra postgres --output-file requirements.lock
	@$(COMPILE) --extra bench --constraint requirements.lock --output-file requirements-bench.lock
	@grep -c == requirements.lock requirements-bench.lock

clean:  ## remove caches and the demo's collection; the environments stay
	@rm -rf .indexer-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	@find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +

# An environment is ready when its file `installed` is newer than its lock and pyproject.toml.
.venv/installed: requirements.lock pyproject.toml
	$(call install,.venv,requirements.lock)

.venv-bench/installed: requirements-bench.lock pyproject.toml
	$(call install,.venv-bench,requirements-bench.lock)

define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed, and '$(PYTHON)' is not. Name one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing the packages of $(2) into $(1). PyTorch is large: the first time takes some minutes."
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(2)
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation -e .
	@touch $@
endef
