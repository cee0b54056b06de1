#!/usr/bin/env bash
# Installs the package and its test tools in a virtual environment, lints and tests.
# Arguments go to pytest: `tools/test.sh -m "not slow"` runs the quick part. Another Python:
# `PYTHON=python3.13 VENV=.venv-3.13 tools/test.sh`.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
# Debian's Python 3.11 is compiled with profiles: the tests take a twelfth less time than
# with one that pyenv has compiled.
python=${PYTHON:-python3}
if [ -z "${PYTHON:-}" ] && /usr/bin/python3 -c 'import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, 11))' \
  2>/dev/null; then
  python=/usr/bin/python3
fi
# An environment of the quick start is kept: it may have another Python.
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
# Meanwhile npm installs the packages of the browser's example: without it or its registry
# two tests are skipped. Scripts of packages would download further files.
packages=examples/browser/node_modules
if command -v npm >/dev/null && [ ! -d "$packages" ]; then
  timeout 90 npm install --prefix "${packages%/*}" --ignore-scripts --no-package-lock \
    --no-audit --no-fund --silent || rm -rf "$packages"
fi &
browser=$!
# Compiling every file of TensorFlow takes a minute. What the first tests import is
# compiled and kept, since a hundred processes import it again.
unset PYTHONDONTWRITEBYTECODE
pip=("$venv/bin/pip" install --quiet --no-compile)
if [ "$(uname -sm)" = "Linux x86_64" ] &&
  "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then
  # The versions of continuous integration, by their hashes; see tools/lock.sh. uv takes a
  # quarter of pip's time. The build of PyTorch is what pip is configured for.
  "${pip[@]}" --require-hashes --requirement <(sed -n '/^uv==/,/# via/p' requirements.lock)
  "${pip[@]}" --no-deps "$(grep --only-matching 'torch<.*' setup.cfg)" &
  uv=("$venv/bin/uv" pip install --quiet --python "$venv" --system-certs --no-config)
  "${uv[@]}" --no-deps --require-hashes --requirement requirements.lock
  wait $!
  # The package itself, and a check that nothing is missing.
  "${uv[@]}" --no-build-isolation --editable ".[dev]"
  # Each core compiles half of what the processes of the tests import.
  "$venv/bin/python" -c 'import keras_hub, tensorflow_datasets' &
  "$venv/bin/python" -c 'import torch, transformers, jax, apache_beam'
  wait $!
else
  "${pip[@]}" --editable ".[dev]"
fi
wait "$browser"
"$venv/bin/ruff" check .
"$venv/bin/ruff" format --check .
# Processes share the cores; tiny models gain nothing from more threads.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
export TF_NUM_INTRAOP_THREADS=${TF_NUM_INTRAOP_THREADS:-1}
# Each process takes whole files, since module fixtures are expensive. A third one has work
# for the two cores where the others wait, for servers and killed processes.
"$venv/bin/python" -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder "$@"
