# Every target does its own set-up: a virtual environment in .venv, with the versions that requirements/ pins.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: native clean
native: ## compile the hot modules in place (fails without a compiler)
	$(BIN)/python build_extensions.py

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path ./$(VENV) -prune -o \( -name '*.so' -o -name __pycache__ \) -print0 | xargs -0 rm -rf
