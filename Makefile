# Needs Python 3.11 or newer and make; everything else goes into .venv, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
SEED ?= $(shell date +%s)
SEEDS ?= 1 2 3
# What trains, and what is printed: the tests of make shaken.
SHAKEN := tests/test_shaking.py tests/test_documents.py tests/test_examples.py tests/test_doctests.py src \
	tests/models tests/training tests/embedding tests/classification tests/links tests/cli
# The project's files are UTF-8 in every locale.
export PYTHONUTF8 := 1

.PHONY: help start busy demo test fuzz shaken generic portable wheel lowest lint format docs readme size growing bench accuracy graphs \
	layers tables embeddings quality spot-check clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and "expected Python 3.11 or newer, found %d.%d; name one with make PYTHON=python3.11" % v[:2])'
	@echo "Setting up $(VENV) (once, a few minutes: it downloads PyTorch)"
	@$(PYTHON) -m venv --clear $(VENV)
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

demo: $(READY) ## embed a tree, classify an epidemic: two tables, a picture, two pages; about a minute
	@$(BIN)/kappagcn demo

test: $(READY) ## run all tests, one thread each, in parallel
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal

fuzz: $(READY) ## property tests on twenty times as many examples, drawn anew each time; SEED=... repeats a run
	@echo "make fuzz SEED=$(SEED) repeats this run"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal -m hypothesis \
		--hypothesis-profile=fuzz --hypothesis-seed=$(SEED)

shaken: $(READY) ## tests of training, documents and examples with all random numbers off by a millionth; SEEDS="1 2 3"
	@for seed in $(SEEDS); do \
		echo "make shaken SEEDS=$$seed repeats this run"; \
		OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal --shaken=$$seed $(SHAKEN) || failed=1; \
	done; test -z "$$failed"

generic: $(READY) ## tests of geometry, layers and networks with the instructions that every x86-64 processor has
	@$(BIN)/python benchmarks/portable.py --row generic tests/geometry tests/nn tests/models

portable: $(READY) ## all tests under other instruction sets, threads and orders; keeps the record
	@$(BIN)/python benchmarks/portable.py

wheel: $(READY) ## build the wheel; install it outside this folder, alone and with each extra; use it there
	@$(BIN)/python tools/wheel.py

lowest: $(READY) ## all tests with the lowest versions that pyproject.toml allows, in an environment of their own
	@$(BIN)/python tools/lowest.py

lint: $(READY) ## style, types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(READY) ## let ruff rewrite what it can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(READY) ## build the documentation into site/; the first time with its pictures, some ten minutes; some need KAPPAGCN_DATA
	@$(BIN)/python tools/pictures.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "site/index.html"

readme: $(READY) ## the README's tables and CONTRIBUTING's figure anew
	@$(BIN)/python tools/pages.py && $(BIN)/python tools/house.py

size: $(READY) ## lines of Python by folder, bytes and files of the repository
	@$(BIN)/python tools/size.py

growing: $(READY) ## a million nodes, mini-batches, several workers beside one process; docs/growing.md; needs KAPPAGCN_DATA
	@$(BIN)/python benchmarks/minibatch.py

bench: $(READY) ## speed and memory against geoopt; keeps the record
	@$(BIN)/python benchmarks/geometry.py

start: $(READY) ## how soon a command starts and a large edge list is read; keeps the record
	@$(BIN)/python benchmarks/data_in.py

busy: $(READY) ## training beside a process that keeps one core busy; needs a quiet machine; keeps the record
	@$(BIN)/python benchmarks/busy_core.py

accuracy: $(READY) ## errors against 50-digit mpmath beside geoopt's; keeps the record
	@$(BIN)/python benchmarks/accuracy.py

graphs: $(READY) ## shortest paths against their peers, curvature of all datasets; needs KAPPAGCN_DATA
	@$(BIN)/python benchmarks/graphs.py && $(BIN)/python benchmarks/curvature.py

layers: $(READY) ## κ-GCN layers against PyG's and our own GCN, precision by radius, κ through zero; needs KAPPAGCN_DATA
	@$(BIN)/python benchmarks/layers.py && $(BIN)/python benchmarks/crossing.py

tables: $(READY) ## node classification: the paper's Tables 2 and 3 and more graphs, from records; runs what is missing; needs KAPPAGCN_DATA
	@$(BIN)/kappagcn reproduce table2 && $(BIN)/kappagcn reproduce table3 && $(BIN)/kappagcn reproduce further
	@$(BIN)/python tools/pack.py

embeddings: $(READY) ## an epoch beside geoopt; the paper's Table 1, the sweep over curvatures and a large graph, from records; runs what is missing; needs KAPPAGCN_DATA
	@$(BIN)/python benchmarks/distortion.py
	@$(BIN)/kappagcn reproduce table1 && $(BIN)/kappagcn reproduce sweep && $(BIN)/kappagcn reproduce large
	@$(BIN)/python tools/pack.py

spot-check: $(READY) ## twelve cells of the tables above, drawn at random, made anew and compared with their records; about 45 minutes; needs KAPPAGCN_DATA
	@$(BIN)/python benchmarks/spot_check.py

quality: $(READY) ## embeddings with the defaults on many graphs, beside published numbers; about an hour; needs KAPPAGCN_DATA
	@$(BIN)/python benchmarks/embedding_quality.py

clean: ## remove the virtual environment and caches
	@rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info src/*.egg-info
