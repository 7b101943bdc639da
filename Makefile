# Two commands for a person: `make demo` and `make test`. `make help` lists the rest.
SHELL := /bin/sh
.DEFAULT_GOAL := help
VENV := .venv/bin

.PHONY: help demo demo-down setup setup-dev test lint sanity unit functional compat build molecule e2e test-recipes test-hosts groups bench docs clean

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: ## Make .venv with ansible-core
	@scripts/setup.sh runtime

setup-dev: ## Make .venv with the test tools too
	@scripts/setup.sh dev

demo: setup ## Serve the tiny DeepSeek on the real vLLM CPU engine of this machine, and chat with it
	@scripts/demo.sh up

demo-down: ## Remove everything that `make demo` made
	@scripts/demo.sh down

test: ## Lint, sanity, units, an installation, scenarios of engines, and the demo itself
	@scripts/test.sh all

lint: ## ansible-lint (production), yamllint, ruff, mypy, shellcheck, generated documents
	@scripts/test.sh lint

sanity: ## ansible-test sanity, all tests
	@scripts/test.sh sanity

unit: ## Unit tests with branch coverage, and the contracts of roles, modules and documents
	@scripts/test.sh unit

functional: ## Modules and roles by real Ansible on this machine, with a stand-in engine under a real supervisord
	@scripts/test.sh functional

compat: ## Units on ansible-core 2.17 and 2.19, target code on Python 3.7 to 3.13
	@scripts/test.sh compat

build: ## Build the collection, install it offline, run it by its full name
	@scripts/test.sh build

molecule: ## Molecule scenarios, on the newest ansible-core and on 2.17 and 2.19
	@scripts/test.sh molecule

e2e: ## The demo end to end with the real engine
	@scripts/test.sh e2e

test-recipes: ## Every command line of the recipes, by the argument parser of exactly the vLLM that it names (4.5 GB)
	@scripts/test.sh recipes

test-hosts: ## Molecule scenarios in which bare servers of several distributions become Ascend hosts
	@scripts/test.sh hosts

groups: ## The real engine in Docker, on one host and on several, and real Ray, by hand: an hour or two
	@scripts/test.sh groups

bench: setup-dev ## Measurements, by hand: prints tables
	@$(VENV)/python tests/bench/run.py

docs: setup-dev ## Generate the tables of the documents
	@$(VENV)/python scripts/generate_role_tables.py
	@$(VENV)/python scripts/generate_signatures_doc.py
	@$(VENV)/python scripts/generate_compatibility_doc.py
	@$(VENV)/python scripts/generate_recipes_doc.py

clean: ## Remove what the tests made in this checkout
	rm -rf .venv .venvs .cache .ansible .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage tests/output
