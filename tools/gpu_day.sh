#!/usr/bin/env bash
# A day of one GPU: the training of gpu_hour.sh with all steps for 24 hours.
#
#   tools/gpu_day.sh PACK RESULTS SECONDS
#
# Arguments are those of gpu_hour.sh.
set -euo pipefail
if [ $# -lt 3 ]; then
  echo "usage: $0 PACK RESULTS SECONDS [OPTION ...]" >&2
  exit 2
fi
exec "$(dirname "$0")/gpu_pieces.sh" 1440 "$1" "$2" "$3" "${@:4}"
