# Every target does its own set-up: a virtual environment in .venv with exactly the versions that
# requirements/ pins, and pyk installed in place. PYK_EXTENSIONS=require|try|skip chooses whether the
# hot modules are compiled (default: if there is a compiler).
PYTHON ?= python3
export PYK_EXTENSIONS ?= try
# The tests start some hundred processes: without a cache each compiles all that it imports again.
unexport PYTHONDONTWRITEBYTECODE

BIN       := .venv/bin
INSTALLED := .venv/.installed
PEERS     := .venv/.peers
FUZZER    := .venv/.fuzzer
AUDITORS  := .venv/.auditors
WORKERS   ?= auto
BROKERS   ?= 3
MINUTES   ?= 10
SEED      ?= 1
BROKER    ?= reference

.DEFAULT_GOAL := help
.PHONY: help demo test conformance bench lint types native docs audit sbom requirements fuzz chaos clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 14

demo: $(INSTALLED) ## watch real data travel: producer, broker, consumer group, Spark, topic
	@echo "== demo: one record's whole journey"
	@$(BIN)/python build_extensions.py
	$(BIN)/python -m examples.journey $(DEMO)

test: $(INSTALLED) ## run the tests that need nothing but this machine
	@echo "== test: the hot modules ($(PYK_EXTENSIONS))"
	@$(BIN)/python build_extensions.py
	@echo "== test: everything but conformance"
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup -m "not conformance" $(TESTS)

conformance: $(INSTALLED) $(PEERS) ## the same scenarios against Apache Kafka, and foreign clients against our broker
	@$(BIN)/python build_extensions.py
	@echo "== conformance: Apache Kafka and foreign clients"
	$(BIN)/pytest -n $(BROKERS) --dist loadgroup --timeout 600 -m conformance $(TESTS)

fuzz: $(INSTALLED) $(FUZZER) ## fuzz the protocol with invalid bytes, for MINUTES=10 in total
	@$(BIN)/python build_extensions.py
	PYTHONPATH=tests $(BIN)/python -m hostile.fuzz $(MINUTES) $(FUZZ)

chaos: $(INSTALLED) ## kill, stop and cut real clients and BROKER=reference|apache for MINUTES=10, and check what they saw
	@$(BIN)/python build_extensions.py
	PYTHONPATH=tests $(BIN)/python -m chaos $(MINUTES) $(SEED) $(BROKER)

bench: $(INSTALLED) $(PEERS) ## measure pyk beside its peers; writes benchmarks/results/latest.json
	@PYK_EXTENSIONS=require $(BIN)/python build_extensions.py
	PYTHONPATH=tests $(BIN)/python -m benchmarks $(BENCH)

lint: $(INSTALLED) ## ruff, and the rules for imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: $(INSTALLED) ## mypy, strict
	$(BIN)/mypy

native: $(INSTALLED) ## compile the hot modules in place, or fail
	PYK_EXTENSIONS=require $(BIN)/python build_extensions.py

docs: $(INSTALLED) ## write the pages that are made from the code again; run every snippet of the user guide
	PYTHONPATH=tests $(BIN)/python -m docs.message_pages
	PYTHONPATH=tests $(BIN)/python -m docs.command_page
	PYTHONPATH=tests $(BIN)/python -m docs.admin_calls
	PYTHONPATH=tests $(BIN)/python -m docs.broker_apis
	PYTHONPATH=tests $(BIN)/python -m docs.test_configuration_page
	$(BIN)/pytest tests/docs

audit: $(INSTALLED) $(AUDITORS) ## bandit on the code; known vulnerabilities of what requirements/ pins
	@.ci/audit || test $$? = 3

sbom: $(INSTALLED) $(AUDITORS) ## build the wheel, and list what is installed with it as CycloneDX in dist/
	@.ci/sbom

requirements: $(INSTALLED) ## pin the newest versions that pyproject.toml allows
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header -q -o requirements/dev.txt
	$(BIN)/uv pip compile pyproject.toml --extra peers --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header -q \
	  -c requirements/dev.txt -o requirements/peers.txt
	$(BIN)/uv pip compile pyproject.toml --extra audit --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header -q \
	  -c requirements/dev.txt -o requirements/audit.txt
	$(BIN)/uv pip compile pyproject.toml --extra fuzz --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header -q \
	  -c requirements/dev.txt -o requirements/fuzz.txt
	$(BIN)/uv pip compile pyproject.toml requirements/spark-4.2.in --extra spark --universal --python-version 3.11 \
	  --upgrade --generate-hashes --no-emit-index-url --no-emit-find-links --no-header -q \
	  -o requirements/spark-4.2.txt

clean: ## remove built files; keep the virtual environment
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .fuzz
	find . -path ./.venv -prune -o \( -name '*.so' -o -name __pycache__ \) -print0 | xargs -0 rm -rf

# Without the build hook, which would remove the compiled modules.
$(INSTALLED): requirements/dev.txt pyproject.toml
	@echo "== set-up: a virtual environment in .venv, and in it what requirements/dev.txt pins"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "pyk needs Python 3.11 or newer; name one with make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	HATCH_BUILD_NO_HOOKS=true $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(PEERS): $(INSTALLED) requirements/peers.txt
	@echo "== set-up: other people's clients, and libraries that read tables"
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/peers.txt
	@touch $@

$(AUDITORS): $(INSTALLED) requirements/audit.txt
	@echo "== set-up: bandit, pip-audit and the tool of CycloneDX"
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/audit.txt
	@touch $@

# Not every system and Python has a wheel of atheris; without it, `make fuzz` says so and goes on.
$(FUZZER): $(INSTALLED) requirements/fuzz.txt
	@echo "== set-up: atheris"
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
	  -r requirements/fuzz.txt && touch $@ || echo "atheris cannot be installed here"
