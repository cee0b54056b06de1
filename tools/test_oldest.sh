#!/usr/bin/env bash
# Runs the quick tests with the oldest versions that setup.cfg allows.
# Arguments go to pytest: `tools/test_oldest.sh tests/layers`.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv-oldest}
python3 -m venv "$venv"
# Each lower bound, `name>=version` or `name[extra]>=version`, becomes `name==version`.
sed -n 's/^ \+\([a-z][A-Za-z0-9_-]*\)\(\[[a-z0-9]*\]\)\?>=\([0-9.]\+\).*/\1==\3/p' setup.cfg \
  > "$venv/constraints.txt"
"$venv/bin/pip" install --quiet --editable ".[test]" \
  --constraint "$venv/constraints.txt"
export TF_NUM_INTRAOP_THREADS=${TF_NUM_INTRAOP_THREADS:-1}
# Old versions use what their newer dependencies deprecate. Some tests run pytest again,
# which reads this variable too.
export PYTEST_ADDOPTS="-W ignore::DeprecationWarning ${PYTEST_ADDOPTS:-}"
"$venv/bin/python" -m pytest --numprocesses 2 --dist loadfile -m "not slow" "$@"
