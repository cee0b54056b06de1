#!/usr/bin/env bash
# Runs gpu_budget.py in pieces, where packages and a network may be missing.
#
#   tools/gpu_pieces.sh MINUTES PACK RESULTS SECONDS [OPTION ...]
#
# Packages that this machine lacks are installed from PACK/wheels into RESULTS/packages.
# With PARTS set to a folder, RESULTS is kept there too, with its newest checkpoint, in
# files of 15 MB, from which a new machine goes on.
set -euo pipefail
shopt -s nullglob
if [ $# -lt 4 ]; then
  echo "usage: $0 MINUTES PACK RESULTS SECONDS [OPTION ...]" >&2
  exit 2
fi
minutes=$1 pack=$(realpath "$2") results=$(realpath -m "$3") seconds=$4
PARTS=${PARTS:+$(realpath -m "$PARTS")}
shift 4
tools=$(realpath "$(dirname "$0")")
if [ ! -e "$results" ] && compgen -G "${PARTS:-/dev/null}/part-*" > /dev/null; then
  mkdir -p "$results"
  cat "$PARTS"/part-* | tar x -C "$results"
fi
mkdir -p "$results/packages"
export PYTHONPATH=$results/packages${PYTHONPATH:+:$PYTHONPATH}
mapfile -t missing < <(python3 -c '
import importlib.metadata, pathlib, sys
for wheel in sys.argv[1:]:
    try:
        importlib.metadata.version(pathlib.Path(wheel).name.split("-")[0])
    except importlib.metadata.PackageNotFoundError:
        print(wheel)' "$pack"/wheels/*.whl)
if [ ${#missing[@]} -gt 0 ]; then
  python3 -m pip install -q --no-index --no-deps --target "$results/packages" "${missing[@]}"
fi
status=0
python3 "$tools/gpu_budget.py" "$pack" "$results" --minutes "$minutes" \
  --seconds "$seconds" "$@" || status=$?
if [ -n "${PARTS:-}" ]; then
  mkdir -p "$PARTS"
  rm -f "$PARTS"/part-*
  newest=$(find "$results" -path '*/checkpoints/step-*.npz' -printf '%P\n' | sort | tail -n 1)
  {
    cd "$results"
    find . -type f ! -path './packages/*' ! -path './compiled/*' ! -name 'step-*.npz'
    [ -z "$newest" ] || echo "./$newest"
  } > "$PARTS/names"
  tar c -C "$results" -T "$PARTS/names" | split -b 15M - "$PARTS/part-"
  rm "$PARTS/names"
fi
exit $status
