#!/usr/bin/env bash
# Runs the quick tests with the oldest versions that setup.cfg allows.
# Arguments go to pytest: `tools/test_oldest.sh tests/layers`.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv-oldest}
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet uv
"$venv/bin/uv" pip install --quiet --python "$venv" --system-certs --no-config \
  --resolution lowest-direct --editable ".[test]"
export TF_NUM_INTRAOP_THREADS=${TF_NUM_INTRAOP_THREADS:-1}
# Old versions use what their newer dependencies deprecate, and TensorFlow 2.20 was generated
# for the protobuf before the one that tensorflow-datasets needs. Some tests start pytest or
# Python again, which read these variables too.
export PYTHONWARNINGS="ignore:Protobuf gencode"
export PYTEST_ADDOPTS="-W ignore::DeprecationWarning -W '$PYTHONWARNINGS' ${PYTEST_ADDOPTS:-}"
"$venv/bin/python" -m pytest --numprocesses 2 --dist loadfile -m "not slow" "$@"
