# `make report` and `make test` are the two commands a newcomer needs; both create the environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help report explore test test-cpus test-lowest test-newest lint format bench bench-explore bench-peers bench-scale campaign claims fingerprints costs pictures docs docs-check wheel clean

help:
	@echo "make report   install, compute the quick report, write out/report.html"
	@echo "make explore  install, open the laboratory in a browser"
	@echo "make test     install with the development tools, run every test"
	@echo "make test-cpus  numerical tests and verdicts as other processors would have them (CPUS=\"nehalem zen\": some)"
	@echo "make test-lowest  every test with the lowest dependencies that pyproject.toml allows"
	@echo "make test-newest  every test on another Python (NEWEST=python3.13)"
	@echo "make lint     ruff, formatting, types"
	@echo "make bench    speed, as ratios within one run"
	@echo "make bench-peers  the same jobs by what one would take instead"
	@echo "make bench-scale  how costs grow with size"
	@echo "make bench-explore  how fast the laboratory is in a browser"
	@echo "make campaign  look for failures, ten minutes a part: random problems, hostile files, kills; goes on where it stopped"
	@echo "make claims   judge every claim anew, the short ones at the papers' scale too: docs/evidence and docs/claims.md"
	@echo "make fingerprints  before a change: store numbers; after it: compare them"
	@echo "make costs    time the catalogue anew, for firstlight study list"
	@echo "make pictures draw the README's pictures anew"
	@echo "make docs     the documentation site in out/site"
	@echo "make docs-check  the same, and every page opened in Chromium, wide and narrow"
	@echo "make wheel    build wheel and sdist into out/dist"
	@echo "make clean    remove the environment and the outputs"

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "firstlight needs Python 3.11 or newer; set PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(PIP) install --constraint constraints.txt --editable '.[dev,cluster,docs]'
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	$(PIP) install --constraint constraints.txt --editable '.[docs]'
	@touch $@

report: $(VENV)/.core
	$(BIN)/firstlight report --scale quick

explore: $(VENV)/.core
	$(BIN)/firstlight explore

# One thread of BLAS a worker; three workers on two cores, as some tests wait for processes that they killed. `make test-cpus` has two threads.
# Bytecode is kept, whatever the environment says: tests start a hundred processes, which would all compile anew.
ONE := OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
# Freed memory stays with the process (glibc): handing arrays back and forth costs tests of large arrays half of their system time.
HEAP := MALLOC_TRIM_THRESHOLD_=1000000000 MALLOC_MMAP_THRESHOLD_=33554432
test: $(VENV)/.dev
	$(ONE) $(BIN)/python tests/kernels.py
	$(ONE) $(HEAP) $(BIN)/python -m pytest --numprocesses 3 --dist worksteal

test-cpus: $(VENV)/.dev
	$(BIN)/python tests/processors.py $(CPUS)

# Environments of their own. LOWEST turns every floor of the dependencies into the version to install.
LOWEST := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")
TOOLS := pytest pytest-xdist playwright hypothesis mypy basedpyright build hatchling editables 'dask>=2024.12' 'distributed>=2024.12'
TESTS ?= tests
test-lowest: pyproject.toml
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	mkdir -p out && $(PYTHON) -c '$(LOWEST)' | sed 's/>=/==/' > out/lowest.txt
	.venv-lowest/bin/python -m pip --quiet install --requirement out/lowest.txt --editable . $(TOOLS)
	$(ONE) .venv-lowest/bin/python -m pytest --numprocesses 2 --dist worksteal $(TESTS)

NEWEST ?= python3.13
test-newest: pyproject.toml
	test -x .venv-newest/bin/python || $(NEWEST) -m venv .venv-newest
	.venv-newest/bin/python -m pip --quiet install --constraint constraints.txt --editable '.[dev,cluster]'
	$(ONE) .venv-newest/bin/python -m pytest --numprocesses 2 --dist worksteal $(TESTS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(ONE) $(BIN)/python -m benchmarks --save docs/measured/performance.json
	OPENBLAS_NUM_THREADS=2 $(BIN)/python -m benchmarks early_alignment one_step phase_transition unseen_classes \
	  --save docs/measured/two_threads.json

bench-scale: $(VENV)/.dev
	$(ONE) $(BIN)/python -m benchmarks.scale --save docs/measured/scale.json
	$(ONE) $(BIN)/python -m benchmarks.workers --save docs/measured/workers.json

bench-explore: $(VENV)/.dev
	$(ONE) $(BIN)/python tests/explore/latency.py --save docs/measured/laboratory.json

# An environment of its own, for what the project itself does not need.
bench-peers: pyproject.toml
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip --quiet install --editable '.[deep]' joblib optuna curvlinops-for-pytorch
	$(ONE) .venv-peers/bin/python -m benchmarks.peers --save docs/measured/peers.json

SECONDS ?= 600
THEORIES = $(BIN)/python -c "from firstlight.study.registry import theories; print(*theories())"
campaign: $(VENV)/.dev
	mkdir -p out
	for theory in `$(THEORIES)`; do \
	  $(BIN)/python campaigns/random_problems.py --count 25000 --only $$theory --seconds $(SECONDS) \
	    --log out/$$theory.jsonl --save docs/measured/campaigns.json || failed=1; done; \
	for kind in hostile/expressions hostile/files hostile/studies hostile/bits disasters/kills disasters/phases disasters/disk \
	  disasters/writes disasters/drivers disasters/clocks disasters/clusters disasters/fetches visitors/visitors; do \
	  $(BIN)/python campaigns/`dirname $$kind`.py --only `basename $$kind` --seconds $(SECONDS) \
	    --log out/`basename $$kind`.jsonl --save docs/measured/campaigns.json || failed=1; done; \
	exit $${failed:-0}

claims: $(VENV)/.dev
	for theory in `$(THEORIES)`; do \
	  $(BIN)/firstlight claims --theory $$theory --save docs/evidence/$${theory}_quick.json; done
	for file in docs/evidence/*_medium.json docs/evidence/*_paper.json; do \
	  $(BIN)/`sed -n 's/^ "command": "\(.*\) --save .*/\1/p' $$file` --save $$file; done
	$(BIN)/python campaigns/claims_page.py

fingerprints: $(VENV)/.dev
	$(BIN)/python campaigns/fingerprints.py out/fingerprints.json

costs: $(VENV)/.dev
	$(BIN)/python -m benchmarks._costs

pictures: $(VENV)/.core
	$(BIN)/python docs/_ext/overview.py docs/pictures/overview.png

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --doctree-dir out/doctrees docs out/site
	$(BIN)/python docs/_ext/check_site.py out/site
	@echo "out/site/index.html"

docs-check: docs $(VENV)/.dev
	$(BIN)/python docs/_ext/check_site.py out/site --browser

wheel: $(VENV)/.dev
	$(BIN)/python -m build --outdir out/dist

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest .venv-peers out
