PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: install demo test lint clean

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[fsspec,redis]' 'mypy>=1.13' 'ruff>=0.8' 'pytest>=8.3' 'hypothesis>=6.112'
	touch $@

install: $(VENV)/installed

demo: install
	@echo "Analysing examples/sales.csv with pandas and matplotlib in a sandbox (examples/analyse_sales.py)."
	@echo "The first time, the runtime is compiled for this computer: one to three minutes, once."
	$(BIN)/planaria setup --full
	$(BIN)/python examples/analyse_sales.py

lint: install
	$(BIN)/ruff check src tests examples
	$(BIN)/ruff format --check src tests examples
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest

clean:
	rm -rf $(VENV) out
