#!/usr/bin/env bash
# Writes requirements.lock: versions and hashes of all that the extra `dev` needs, for
# Python 3.11 on Linux x86_64. Needs uv (`pip install uv`). Options go to uv:
# `tools/lock.sh --upgrade` locks the newest versions, `--upgrade-package keras` one.
set -euo pipefail
cd "$(dirname "$0")/.."
# PyTorch is left out, because its build depends on the machine: PyPI's needs 3 GB of CUDA
# libraries. Two packages that all of its builds need are named instead.
# uv would choose a version of backports-strenum that is not for Python 3.11.
printf '%s\n' sympy networkx 'backports-strenum<1.3' |
  uv pip compile setup.cfg - --extra dev --excludes <(echo torch) \
    --python-version 3.11 --python-platform x86_64-manylinux_2_28 \
    --no-config --system-certs --quiet \
    --generate-hashes --annotation-style line \
    --custom-compile-command tools/lock.sh --output-file requirements.lock "$@"
