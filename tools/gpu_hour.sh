#!/usr/bin/env bash
# An hour of one GPU: the training speed of base and xxlarge in bfloat16 beside PyTorch and
# the peak of the chip; then a model of width 384, whose layer is applied 12 times, is
# pretrained for the rest. Rows and depth grow on the way.
#
#   tools/gpu_hour.sh --pack PACK TOKENIZER TEXT ...     # once, where there is a network
#   tools/gpu_hour.sh PACK RESULTS SECONDS [OPTION ...]  # again while its status is 75
#
# PACK gets TEXT as token ids with held-out documents, TOKENIZER (a SentencePiece model),
# and wheels for Python ${PYTHON_VERSION:-3.12} on Linux x86_64. The checkout must travel
# with it. The machine has JAX; PyTorch and transformers for their figures.
#
# A call stops cleanly before SECONDS have passed (0: no limit), and the next one resumes.
# OPTIONs go to `albert-keras pretrain`. Environment: MINUTES of the whole (default 60);
# PARTS, a folder that keeps RESULTS with its newest checkpoint in files of 15 MB, from
# which a new machine resumes. RESULTS gets:
#
#   speed-PRESET.json   as tools/benchmarks/training.py prints it
#   phases.txt          the phases of pretraining, sized by a dry run
#   run/                the run: log.jsonl, learning_curve.png, report.json, checkpoints
set -euo pipefail
shopt -s nullglob
if [ $# -lt 3 ]; then
  sed -n '6,7s/^#  *//p' "$0" >&2
  exit 2
fi
tools=$(realpath "$(dirname "$0")")
if [ "$1" = --pack ]; then
  pack=$2 tokenizer=$3
  mkdir -p "$pack/wheels"
  cp "$tokenizer" "$pack/vocabulary.model"
  albert-keras prepare-data "${@:4}" --tokenizer "$tokenizer" --output "$pack/tokens" \
    --sequence-length 128
  platforms=(--platform manylinux1_x86_64)
  for version in 2_17 2_24 2_27 2_28; do
    platforms+=(--platform "manylinux_${version}_x86_64")
  done
  # What machines with JAX and PyTorch may lack.
  exec python3 -m pip download -q --no-deps --only-binary=:all: -d "$pack/wheels" \
    --python-version "${PYTHON_VERSION:-3.12}" "${platforms[@]}" \
    absl-py filelock google-crc32c h5py kagglehub kagglesdk keras keras-hub lazy-loader \
    markdown-it-py mdurl ml-dtypes namex optree packaging pygments regex rich safetensors \
    sentencepiece tokenizers
fi
pack=$(realpath "$1") results=$(realpath -m "$2") limit=$3
shift 3
PARTS=${PARTS:+$(realpath -m "$PARTS")}
if [ ! -e "$results" ] && compgen -G "${PARTS:-/dev/null}/part-*" >/dev/null; then
  mkdir -p "$results"
  cat "$PARTS"/part-* | tar x -C "$results"
fi
mkdir -p "$results/packages"
export PYTHONPATH="$(dirname "$tools"):$results/packages${PYTHONPATH:+:$PYTHONPATH}"
# Compiled programs are kept for the next call.
export KERAS_BACKEND=${KERAS_BACKEND:-jax} JAX_COMPILATION_CACHE_DIR=$results/compiled
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

save_parts() {
  [ -n "$PARTS" ] || return 0
  mkdir -p "$PARTS"
  rm -f "$PARTS"/part-*
  newest=$(find "$results" -path '*/checkpoints/step-*.npz' -printf '%P\n' | sort | tail -n 1)
  (
    cd "$results"
    find . -type f ! -path './packages/*' ! -path './compiled/*' ! -name 'step-*.npz'
    [ -z "$newest" ] || echo "./$newest"
  ) >"$PARTS/names"
  tar c -C "$results" -T "$PARTS/names" | split -b 15M - "$PARTS/part-"
  rm "$PARTS/names"
}
trap save_parts EXIT

# Runs Python; stops the script with status 75 when the time of this call is over. The last
# step and its checkpoint have half a minute.
run() {
  local left=$((limit - SECONDS - 30)) status=0
  if [ "$limit" = 0 ]; then
    python3 "$@" || status=$?
  elif [ $left -gt 0 ]; then
    timeout "$left" python3 "$@" || status=$?
  else
    status=124
  fi
  if [ $status = 124 ]; then
    echo "Not finished: call again to resume. Results so far: $results." >&2
    exit 75
  fi
  return $status
}

# Runs Python once, with its output in a file of the results; notes how long it took.
measure() { # FILE WORD ...
  local file=$results/$1 start=$SECONDS
  [ ! -e "$file" ] || return 0
  run "${@:2}" >"$file.part"
  echo $((SECONDS - start)) >>"$results/seconds.txt"
  mv "$file.part" "$file"
}

# Rows of 128 tokens: the activations of three contenders fit in 80 GB.
for each in albert_base_v2=128 albert_xxlarge_v2=16; do
  measure "speed-${each%=*}.json" "$tools/benchmarks/training.py" --json --device gpu \
    --preset "${each%=*}" --batch-size "${each#*=}" --threads "$(nproc)" --steps 10
done

pretrain=(-m albert_keras pretrain --data "$pack/tokens" --run "$results/run"
  --tokenizer "$pack/vocabulary.model" --preset albert_small_zh --num-layers 12
  --num-heads 6 --max-sequence-length 128 --precision mixed_bfloat16 --jit-compile
  --optimizer adamw --learning-rate 0.001 --seed 1 "$@")
short=masking=token,masked_rate=0.2
phases=(
  "num_steps=1000,batch_size=1024,sequence_length=32,num_layers=1,$short"
  "num_steps=1000,batch_size=1024,sequence_length=32,num_layers=3,$short"
  "num_steps=1000,batch_size=1024,sequence_length=64,num_layers=6,$short"
  "num_steps=1000,batch_size=512,sequence_length=128,masked_rate=0.2"
)
if [ ! -e "$results/phases.txt" ]; then
  measure dry.json "${pretrain[@]}" --phases "${phases[@]}" --dry-run --json
  # Each phase has a share of the time that measuring has left.
  python3 - "$results" "${MINUTES:-60}" "${phases[@]}" <<'PYTHON'
import json, pathlib, sys

results, minutes, *phases = sys.argv[1:]
results = pathlib.Path(results)
spent = sum(map(int, (results / "seconds.txt").read_text().split()))
measured = json.loads((results / "dry.json").read_text())["phases"].values()
with open(results / "phases.txt", "w") as file:
    for share, phase, step in zip((0.1, 0.1, 0.15, 0.65), phases, measured):
        seconds = share * (60 * float(minutes) - spent)
        steps = max(1, round(seconds / step["seconds_per_step"]))
        print(phase.replace("num_steps=1000", f"num_steps={steps}"), file=file)
PYTHON
fi
mapfile -t phases <"$results/phases.txt"
num_steps=$(awk -F '[=,]' '{sum += $2} END {print sum}' "$results/phases.txt")
run "${pretrain[@]}" --phases "${phases[@]}" --warmup-steps $((6 * num_steps / 100)) \
  --steps-per-evaluation $((num_steps / 40 + 1))
cat "$results"/speed-*.json "$results/run/report.json"
