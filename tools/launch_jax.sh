#!/usr/bin/env bash
# Pretrains on several machines with JAX: run it on each of them, with its index.
#
#   tools/launch_jax.sh 0 2 10.0.0.1:2222 \
#       --data /shared/records --tokenizer /shared/30k.model --run /shared/runs/base
#
# The address is that of machine 0, the chief, which alone writes files. Data and run folder
# must be on a disk that all machines share, and the installed versions the same. If one
# machine fails, all stop: run the script again on each, and training resumes from the last
# checkpoint. Connections are not authenticated: use private networks only.
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
