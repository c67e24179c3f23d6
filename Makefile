# Everything runs in .venv. `make demo` installs requirements-light.lock into it, the other targets all of requirements.lock.
# `make` alone lists the targets.

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
.PHONY: help demo install test live fuzz services check format bench tables bundle docs sbom audit lock clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(or $(wildcard .venv/installed),.venv/installed-light)  ## index 600 abstracts into ./.indexer-demo, show topics, search, phrases, a document
	@$(BIN)/indexer demo

install: .venv/installed  ## install everything into .venv: training, workers, tests

test: .venv/installed $(if $(REQUIRE_SERVICES),services)  ## run the fast tests; with REQUIRE_SERVICES=1 all: slow and live ones too
	@$(BIN)/pytest $(FAST) $(PYTEST_ARGS)

live: .venv/installed  ## run the tests that need real servers, which they start themselves
	@$(BIN)/pytest -m live $(PYTEST_ARGS)

# Hypothesis draws other examples each time; what fails is printed, and kept in .hypothesis for the next time.
FUZZ = tests/readers tests/text tests/contract tests/web -k "any or mutated" -m "not live" -p no:cacheprovider
fuzz: .venv/installed  ## try FUZZ_TIMES (600) times as many examples of files, texts, queries and requests: about an hour
	@FUZZ_TIMES=$${FUZZ_TIMES:-600} $(BIN)/pytest $(FUZZ) $(PYTEST_ARGS)

services: .venv/installed  ## install what these servers need, by apt, as root
	@PYTHONPATH=tests $(BIN)/python -m services.install

check: .venv/installed  ## check format, lint, types, layers and terms, then run the fast tests
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tools.check_terms
	@$(BIN)/pytest $(FAST) $(PYTEST_ARGS)

format: .venv/installed  ## format the code and sort the imports
	@$(BIN)/ruff check --select I --fix .
	@$(BIN)/ruff format .

bench: .venv-bench/installed  ## compare with KeyBERT and BERTopic; BENCH_ARGS="--help" lists the options
	@$(BENCH_BIN)/python -m benchmarks.run $(BENCH_ARGS)

bench-%: .venv/installed
	@$(BIN)/python -m benchmarks.$* $(BENCH_ARGS)

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
	@$(BIN)/python -m tools.int8_weights models/bundles/minilm-phrases

docs: .venv/installed  ## write docs/commands.md from the help of the commands
	@$(BIN)/python -m tools.command_reference

# With KEY=…, an SSH key, each list is signed; docs/security.md says how to verify it.
sbom: .venv/installed  ## write what a release contains into build/, as CycloneDX; KEY=FILE signs it
	@$(BIN)/python -m tools.sbom
	@$(if $(KEY),rm -f build/sbom*.sig && ssh-keygen -Y sign -q -f "$(KEY)" -n indexer build/sbom-light.json build/sbom.json)

audit: .venv/installed  ## look up known vulnerabilities of all locked packages; asks pypi.org
	@$(BIN)/pip-audit --disable-pip --require-hashes -r requirements.lock

# The lock files hold versions and hashes for Linux and macOS, and no address.
# Versions stay where they can; `make lock UPGRADE=--upgrade` takes the newest ones.
COMPILE = $(BIN)/uv pip compile pyproject.toml --quiet $(UPGRADE) --universal --python-version 3.11 \
	--generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

# Left out of the light locks, although packages ask for them: nothing here imports them. The package of the model names
# sentence-transformers, tokenizers the hub, and spaCy setuptools, which the image needs to install the program.
UNUSED = sentence-transformers huggingface-hub
LIGHTER = $(COMPILE) --constraint requirements.lock --override -

lock: .venv/installed  ## write the lock files from pyproject.toml
	@$(COMPILE) --extra dev --output-file requirements.lock
	@printf 'rich\n' | $(LIGHTER) --extra bench --output-file requirements-bench.lock  # one package wants an old one
	@printf '%s; python_version < "3"\n' $(UNUSED) setuptools | $(LIGHTER) --output-file requirements-light.lock
	@printf '%s; python_version < "3"\n' $(UNUSED) | $(LIGHTER) --extra model --extra postgres --extra workers \
		--output-file requirements-server.lock
	@grep -c == requirements*.lock

clean:  ## remove caches and the demo's collection; the environments stay
	@rm -rf .indexer-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	@find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +

# An environment is complete when its file `installed` or `installed-light` is newer than the lock and pyproject.toml. The
# file goes before an installation and comes back at its end; an environment without one is removed and made again.
.venv/installed: requirements.lock pyproject.toml
	$(call install,.venv,$@,$<,. PyTorch is large: the first time takes some minutes)

.venv/installed-light: requirements-light.lock pyproject.toml
	$(call install,.venv,$@,$<)

.venv-bench/installed: requirements-bench.lock pyproject.toml
	$(call install,.venv-bench,$@,$<,. PyTorch is large: the first time takes some minutes)

# uv downloads and unpacks in parallel. It comes from the lock, by pip, into a folder that is removed at the end, and uses
# the index that pip is set to.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed, and '$(PYTHON)' is not. Name one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing the packages of $(3) into $(1)$(4)."
	@set -e; \
	boot=$(1)-boot; trap "rm -rf $$boot" EXIT; trap 'exit 130' INT TERM; \
	rm -rf $$boot; \
	ls $(1)/installed* >/dev/null 2>&1 || rm -rf $(1); \
	rm -f $(1)/installed*; \
	$(PYTHON) -m venv $$boot; \
	awk '/^[a-z]/ {ours = /^uv==/} ours' requirements.lock >$$boot/uv.lock; \
	pip="$$boot/bin/python -m pip --disable-pip-version-check"; \
	$$pip install --quiet --no-deps --require-hashes -r $$boot/uv.lock; \
	index=$${PIP_INDEX_URL:-$$($$pip config get global.index-url 2>/dev/null || true)}; \
	test -z "$$index" || export UV_DEFAULT_INDEX="$$index"; \
	export UV_FIND_LINKS="$${PIP_FIND_LINKS:-}" UV_SYSTEM_CERTS=1 UV_HTTP_TIMEOUT=180; \
	uv=$$boot/bin/uv; \
	test -x $(1)/bin/python || $$uv venv --quiet --no-project --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(1); \
	$$uv pip install --quiet --python $(1)/bin/python --no-deps --require-hashes -r $(3); \
	$$uv pip install --quiet --python $(1)/bin/python --no-deps --build-constraint requirements.lock -e .; \
	touch $(2)
endef
