#!/usr/bin/env bash
# An hour of one GPU: the speed of base and xxlarge in bfloat16 beside PyTorch and the
# chip's matrix peak, then a model of 12 applications of width 384 for the rest.
#
#   tools/gpu_pack.sh PACK TOKENIZER TEXT ...    # once, where there is a network
#   tools/gpu_hour.sh PACK RESULTS SECONDS       # again while its status is 75
#
# A call stops cleanly before SECONDS have passed. Needs JAX, and PyTorch for its figures;
# other packages come from PACK. See gpu_budget.py for RESULTS, gpu_pieces.sh for PARTS.
set -euo pipefail
if [ $# -lt 3 ]; then
  echo "usage: $0 PACK RESULTS SECONDS [OPTION ...]" >&2
  exit 2
fi
exec "$(dirname "$0")/gpu_pieces.sh" 60 "$1" "$2" "$3" \
  --speed albert_base_v2 albert_xxlarge_v2 "${@:4}"
