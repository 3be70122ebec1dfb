# make demo   the whole line on this machine      make ui     the pages on its state
# make test   what this machine can run           make lint   style and types
#
# CPU only? The torch that PyPI serves carries CUDA (gigabytes). Bring the CPU build instead:
#   make install TORCH_INDEX=URL      (the index of CPU builds that pytorch.org names under "Get started")
PYTHON ?= python3.11
VENV ?= .venv
EXTRAS ?= cpu,train,plot,dev
TORCH_INDEX ?=
COMPILE ?= --compile
PORT ?= 3000
WORKERS ?= 2
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo ui test lint install snapshot clean
.DEFAULT_GOAL := demo

demo: $(INSTALLED)
	$(BIN)/loopwright demo $(ARGS)

ui: $(INSTALLED)
	$(BIN)/loopwright ui --port $(PORT)

test: $(INSTALLED)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

snapshot: $(INSTALLED)
	$(BIN)/python -m pytest -q tests/test_definitions.py --update-snapshots

bench-%: $(INSTALLED)
	@test -f tests/bench/$*.py || { echo "no benchmark $*; there are: $(notdir $(basename $(wildcard tests/bench/*.py)))"; exit 2; }
	$(BIN)/python tests/bench/$*.py $(ARGS)

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(if $(TORCH_INDEX),$(BIN)/python -m pip install -q $(COMPILE) -c constraints.txt --index-url $(TORCH_INDEX) torch==2.13.0)
	$(BIN)/python -m pip install -q $(COMPILE) -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

clean: # all state: lake, registry, Dagster's own; the virtual environment stays
	cd "$${LOOPWRIGHT_HOME:-.loopwright}" 2>/dev/null && rm -rf lake dagster registry.db* inventory.json demo.log demo.lock || true
