#!/usr/bin/env bash
# Pretrains on several machines with TensorFlow: run it on each of them, with its index.
#
#   tools/launch_multi_worker.sh 0 10.0.0.1:2222,10.0.0.2:2222 \
#       --data /shared/records --tokenizer /shared/30k.model --run /shared/runs/base
#
# Index 0 is the chief, which alone writes files. Data and run folder must be on a disk that
# all machines share, and the installed versions the same. If one machine fails, all stop:
# run the script again on each, and training resumes from the last checkpoint. TensorFlow's
# server listens on all network interfaces without authentication: use private networks only.
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
