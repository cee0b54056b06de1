#!/usr/bin/env bash
# Pretrains on several machines with TensorFlow: run it on each of them, with its index.
#
#   tools/launch_multi_worker.sh 0 10.0.0.1:2222,10.0.0.2:2222 \
#       --data /shared/records --tokenizer /shared/30k.model --run /shared/runs/base
#
# Index 0 is the chief, the only one that writes. Data and run stand on a disk that all of
# them see, and what is installed is the same everywhere. When one is lost, all end:
# run it again on each, and training goes on from the last checkpoint. TensorFlow's server
# listens on all network interfaces and asks for no password: private networks only.
set -euo pipefail
if (($# < 2)); then
  echo "usage: $0 INDEX HOST:PORT,HOST:PORT,... ARGUMENTS of albert-keras pretrain" >&2
  exit 2
fi
index=$1 addresses=$2
shift 2
workers=\"${addresses//,/\",\"}\"
export TF_CONFIG="{\"cluster\": {\"worker\": [$workers]},
  \"task\": {\"type\": \"worker\", \"index\": $index}}"
export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-3}
exec albert-keras pretrain --strategy multi_worker "$@"
