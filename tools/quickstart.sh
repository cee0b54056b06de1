#!/usr/bin/env bash
# Installs the package in a virtual environment and runs the quick start, which prints
# where its pictures are.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
# An environment of the tests is kept: it may have another Python.
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --editable ".[lite,plots]"
"$venv/bin/albert-keras" quickstart "$@"
