#!/usr/bin/env bash
# Pretrains on several machines with JAX: run it on each of them, with its index.
#
#   tools/launch_jax.sh 0 2 10.0.0.1:2222 \
#       --data /shared/records --tokenizer /shared/30k.model --run /shared/runs/base
#
# The address is that of machine 0: the chief, the only one that writes. Data and run stand
# on a disk that all of them see, and what is installed is the same everywhere. When one is
# lost, all end: run it again on each, and training goes on from the last checkpoint.
# Nothing asks for a password: private networks only.
set -euo pipefail
if (($# < 3)); then
  echo "usage: $0 INDEX COUNT HOST:PORT ARGUMENTS of albert-keras pretrain" >&2
  exit 2
fi
export KERAS_BACKEND=jax
export KERAS_DISTRIBUTION_PROCESS_ID=$1
export KERAS_DISTRIBUTION_NUM_PROCESSES=$2
export KERAS_DISTRIBUTION_JOB_ADDRESSES=$3
shift 3
export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-3}
exec albert-keras pretrain --strategy data_parallel "$@"
