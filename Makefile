# Two commands do everything on a fresh machine: `make quickstart` and `make test`.
#
# TORCH is the requirement that pip is given for PyTorch. Another build, for example one for your CUDA version:
#   make quickstart TORCH="torch==2.13.0 --index-url URL"
TORCH ?= torch==2.13.0
PYTHON ?= python3

.DELETE_ON_ERROR:
.PHONY: quickstart test lint types unit test-slurm clean

python := .venv/bin/python
# -P keeps the working directory out of sys.path: the installed package is what runs.
run := $(python) -P
sources := $(shell find repoformer data_pipeline eval -type f -not -path '*/__pycache__/*')

quickstart: .venv/package
	$(run) -m repoformer quickstart recipes/quickstart.yaml

test: lint types unit

lint: .venv/package .venv/dev
	$(run) -m ruff check .
	$(run) -m ruff format --check .

# Outside the tree, so that the installed package is checked and no module has two names.
types: .venv/package .venv/dev
	cd .venv && bin/python -P -m mypy --config-file ../pyproject.toml --cache-dir ../.mypy_cache -p repoformer

unit: .venv/package .venv/dev
	OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 WANDB_MODE=offline $(run) -m pytest

# The batch scripts on a real SLURM of this machine alone. Needs root; installs Debian's where there is none.
test-slurm: .venv/package .venv/dev
	{ command -v slurmctld && command -v slurmd && command -v munged; } >/dev/null || { apt-get update && \
	  DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends slurm-wlm munge; }
	OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 WANDB_MODE=offline $(run) -m pytest -rP tests/slurm/real_slurm.py

.venv/environment: pyproject.toml .constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; make quickstart PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	test -x $(python) || $(PYTHON) -m venv .venv
	$(python) -m pip install --quiet --disable-pip-version-check --constraint .constraints.txt "setuptools>=77"
	$(python) -c 'import torch' 2>/dev/null || $(python) -m pip install --disable-pip-version-check $(TORCH)
	$(python) -m pip install --quiet --disable-pip-version-check --constraint .constraints.txt .
	touch $@

.venv/dev: .venv/environment
	$(python) -m pip install --quiet --disable-pip-version-check --constraint .constraints.txt ".[dev]"
	touch $@

# Installed, not editable. build/ is removed because setuptools would pack what an earlier build left there.
.venv/package: .venv/environment $(sources)
	rm -rf build
	$(python) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall .
	rm -rf build
	touch $@

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache
