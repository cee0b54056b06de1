#!/usr/bin/env bash
# Builds sdist and wheel into dist/, checks that both install the same files, and runs the
# quick start and the quick tests with them in a fresh virtual environment, outside of the
# checkout. Arguments go to pytest. Only committed files are seen.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet build uv
mkdir "$work/source" "$work/tests"
git archive HEAD | tar -x -C "$work/source"
rm -rf dist
# The wheel is built from the sdist.
"$work/tools/bin/python" -m build --outdir dist "$work/source"

venv=$work/venv
python3 -m venv "$venv"
install=("$work/tools/bin/uv" pip install --quiet --python "$venv" --system-certs)
"${install[@]}" "$(echo dist/*.whl)[test]"
package=("$venv"/lib/python*/site-packages/albert_keras)
cp -r "${package[0]}" "$work/from_wheel"
"${install[@]}" --no-deps --reinstall-package albert_keras dist/*.tar.gz
diff -r "$work/from_wheel" "${package[0]}"

# Tests that read the package's own source need the checkout.
git archive HEAD | tar -x -C "$work/tests" --exclude=./albert_keras --exclude='albert_keras/*'
sources=(tests/architecture_test.py tests/models/saved_models_test.py tests/presets/shipped_test.py)
export TF_NUM_INTRAOP_THREADS=${TF_NUM_INTRAOP_THREADS:-1}
# A hundred processes of the tests import TensorFlow.
unset PYTHONDONTWRITEBYTECODE
cd "$work/tests"
"$venv/bin/albert-keras" quickstart --output "$work/quickstart"
"$venv/bin/python" -m pytest tests --numprocesses 2 --dist loadfile -m "not slow" \
  "${sources[@]/#/--ignore=}" "$@"
