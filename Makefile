# On a bare machine with python3, venv and make, every target below sets itself up. The README's two commands: make demo, make test.
PYTHON ?= python3
BIN := .venv/bin
# Without compiling: most modules of the large dependencies are never imported, and those that are compile then, once: what Python
# compiles has to be kept, whatever the machine's setting, or every process spends seconds on it.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --progress-bar off --no-compile --constraint constraints.txt
# One worker more than cores, because tests of processes wait; one thread for each.
WORKERS := $(shell $(PYTHON) -c "import os; print(min(4, (os.cpu_count() or 1) + 1))")
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile
# Tests compile thousands of small JAX programs. These emitters of XLA take a third less time for
# them; test-long runs with XLA's own choice.
QUICK_XLA := XLA_FLAGS="--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"

.PHONY: demo test test-fast test-long lint types bench figures docs docs-open package attack clean

demo: .venv/.run
	@$(BIN)/python examples/quickstart.py

test: lint types
	$(QUICK_XLA) $(PYTEST) -m "not long"

test-fast: .venv/.dev
	$(QUICK_XLA) $(PYTEST) --dist worksteal -m "not long and not slow" tests

test-long: .venv/.dev
	$(PYTEST)

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/python .ci/links.py

types: .venv/.dev
	$(BIN)/mypy

bench: .venv/.dev
	for script in core engine; do $(BIN)/python benchmarks/$$script.py || exit 1; done

figures: .venv/.dev
	$(BIN)/python docs/figures.py

# Sphinx runs the gallery and the snippets; KERAS_BACKEND needs no further package.
docs: .venv/.docs
	KERAS_BACKEND=jax $(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python .ci/links.py docs/_build/html
	$(BIN)/python .ci/narrow.py docs/_build/html
	@echo "The site: docs/_build/html/index.html"

docs-open: docs
	$(BIN)/python -m webbrowser "file://$(CURDIR)/docs/_build/html/index.html"

# What a release would publish, built and tried out in an environment of its own.
package: .venv/.dev
	.ci/package $(BIN)/python

attack: .venv/.dev
	$(BIN)/python attack/run.py

clean:
	rm -rf .venv dist docs/_build docs/generated docs/gallery

# The interpreter alone, then the run-time dependencies, then every extra: each stamp is redone when what it was made from changes.
.venv/bin/python:
	@echo "Creating .venv ..."
	@$(PYTHON) -m venv .venv

.venv/.run: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing astralearn and its run-time dependencies into .venv (once, about a minute) ..."
	@$(PIP) --editable .
	@touch $@

.venv/.dev: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing astralearn with every extra into .venv (once, a few minutes) ..."
	@$(PIP) --editable ".[all,dev]"
	@touch .venv/.run $@

.venv/.docs: .venv/.dev
	@echo "Installing Sphinx into .venv (once) ..."
	@$(PIP) --editable ".[docs]"
	@touch $@
