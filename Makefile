# Two commands: `make demo` and `make test`. Each does all its own set-up.

PYTHON ?= python3
VENV ?= .venv
# Many tests wait for something: two a core.
PYTEST_ARGS ?= -n $$((2 * $$(nproc)))
BIN := $(VENV)/bin
# Thousands of short Python processes: compiling everything anew in each is a quarter of the time.
export PYTHONDONTWRITEBYTECODE :=
SOURCES := pyproject.toml setup.py $(wildcard sandbox/init/*.c sandbox/init/*.h sandbox/init/Makefile)

.PHONY: demo test test-long lint machine agents clean

demo: $(VENV)/.demo
	PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

test: machine agents $(VENV)/.dev lint
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-long: export ROLEWALL_TEST_LONG = 1
test-long: test

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

machine:
	sh tests/machine.sh

agents: $(BIN)/python
	sh tests/agents.sh $(BIN)/python

$(BIN)/python:
	sh tests/venv.sh "$(PYTHON)" "$(VENV)"

$(VENV)/.demo: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,dev,inspect]'
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info
	$(MAKE) -C sandbox/init clean
