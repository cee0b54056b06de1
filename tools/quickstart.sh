#!/usr/bin/env bash
# Installs the package in a virtual environment and runs the quick start.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --editable ".[lite]"
"$venv/bin/albert-keras" quickstart "$@"
