# make demo | test | test-fast WING=charts | soak | lint | lab | benchmarks: each sets up .venv by itself on a machine with Python >= 3.11.
# `make soak` runs the tests marked soak, at ten times the counts that `make test` gives them, those marked long, which
# `make test` leaves out, and the properties on random examples, while those of `make test` are the same in every run.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUTPUT ?= demo-output

# modules are compiled once, not in each of the hundreds of processes that tests start
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-fast soak lint lab benchmarks clean

demo: $(VENV)/demo-ready
	$(BIN)/accounting-analytics demo --output $(OUTPUT)

test: $(VENV)/ready
	$(BIN)/python -m pytest -n 2 --dist worksteal --durations 10

# The tests of a wing without browsers, other programs and long counts: what to run while changing it.
test-fast: $(VENV)/ready
	@[ -n "$(WING)" ] || { echo "name a wing: make test-fast WING=charts"; exit 1; }
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not (long or soak or browser or spark or postgresql)' tests/$(WING)

soak: $(VENV)/ready
	ACCOUNTING_ANALYTICS_SOAK=10 $(BIN)/python -m pytest -m 'soak or long or hypothesis' -n 2 --dist worksteal --timeout 7200 --durations 0

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --config pyproject.toml

lab: $(VENV)/demo-ready
	$(BIN)/accounting-analytics demo --lab

# The page benchmarks-output/growth.html; an hour on two cores.
benchmarks: $(VENV)/ready
	$(BIN)/python tests/benchmarks/growth.py

clean:
	rm -rf $(VENV) $(OUTPUT) benchmarks-output

# Install exactly the pinned packages, each verified by its hash, then this project, editable; modules are compiled when
# they are first imported. The demo and JupyterLab need about half of what the tests need.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps
$(VENV)/demo-ready: .ci/demo.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, not %s; name one: make PYTHON=python3.12" % sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV) || { echo "cannot make a virtual environment; on Debian: apt-get install python3-venv"; exit 1; }
	$(INSTALL) --no-compile --require-hashes -r .ci/demo.lock
	$(INSTALL) --no-build-isolation --editable .
	touch $@

$(VENV)/ready: $(VENV)/demo-ready .ci/requirements.lock
	$(INSTALL) --no-compile --require-hashes -r .ci/requirements.lock
	touch $@
