#!/usr/bin/env bash
# Installs the package with its test tools into a virtual environment, lints, tests.
# Arguments go to pytest: `tools/test.sh -m "not slow"` for the quick part.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --editable ".[dev]"
"$venv/bin/ruff" check .
"$venv/bin/ruff" format --check .
# Two processes share the cores: tiny models gain nothing by threads of their own.
export TF_NUM_INTRAOP_THREADS=${TF_NUM_INTRAOP_THREADS:-1}
# Two at once, whole files each, in their order: the slow ones stand among the others.
"$venv/bin/python" -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder "$@"
