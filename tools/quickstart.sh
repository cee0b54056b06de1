#!/usr/bin/env bash
# Installs the package in a virtual environment and runs the quick start.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
python3 -m venv "$venv"
# Python compiles what it imports; all files of TensorFlow take half a minute more.
"$venv/bin/pip" install --quiet --no-compile --editable ".[lite]"
"$venv/bin/albert-keras" quickstart "$@"
