#!/usr/bin/env bash
# Trains saved_models/albert_nano_en from text, in two and a half hours of one core. An
# interrupted run resumes when the script is called again.
#
#   tools/make_albert_nano_en.sh CORPORA SST-2 WORK
#
# CORPORA: folder of the five JSONL files named below; SST-2: GLUE's train.tsv, dev.tsv.
set -euo pipefail
if [ $# -ne 3 ]; then
  echo "usage: $0 CORPORA SST-2 WORK" >&2
  exit 2
fi
# Check the requirements of the last step before the first one.
python3 -c "import albert_keras, matplotlib" || {
  echo "$0 needs the extra plots: pip install 'albert_keras[plots]'" >&2
  exit 1
}
mkdir -p "$3"
tools=$(realpath "$(dirname "$0")")
corpora=$(realpath "$1")
ln -sfn "$(realpath "$2")" "$3/SST-2"
cd "$3"

# prepare-data takes a rewritten file for another corpus, so existing files are kept.
split() {
  [ -f "$3" ] || { awk "$1" "$2" > "$3.part" && mv "$3.part" "$3"; }
}
for source in enwiki_articles gutenberg_nltk squad_wikipedia us_inaugural us_state_union; do
  split 'NR % 20' "$corpora/$source.jsonl" "train_$source.jsonl"
  split 'NR % 20 == 0' "$corpora/$source.jsonl" "held_$source.jsonl"
done
[ -f vocab.model ] || albert-keras train-vocabulary train_*.jsonl \
  --vocabulary-size 8000 --output vocab.model
albert-keras prepare-data train_*.jsonl --tokenizer vocab.model --output tokens \
  --sequence-length 128 --dynamic --seed 1 --validation-split 0
albert-keras prepare-data held_*.jsonl --tokenizer vocab.model --output held \
  --sequence-length 128 --dupe-factor 1 --num-shards 1 --seed 2 --validation-split 0
albert-keras pretrain --data tokens --tokenizer vocab.model --run run/short \
  --recipe two_cores --max-sequence-length 32 --seed 1
albert-keras pretrain --data tokens --validation-data held --tokenizer vocab.model \
  --run run/long --recipe two_cores_long --checkpoint run/short \
  --max-sequence-length 128 --seed 2
albert-keras pretrain --data tokens --validation-data held --tokenizer vocab.model \
  --run run/nano --recipe two_cores_long --checkpoint run/long \
  --max-sequence-length 128 --num-steps 4000 --warmup-steps 50 --seed 3
albert-keras evaluate run/nano --data held --json > evaluation.json

for seed in 1 2 3; do
  for weights in pretrained random; do
    run=run/sst2_${weights}_$seed
    albert-keras finetune --task sst-2 --train SST-2/train.tsv --validation SST-2/dev.tsv \
      --checkpoint run/nano $([ $weights = pretrained ] || echo --random-weights) \
      --run "$run" --sequence-length 48 --learning-rate 1.5e-3 --num-steps 600 \
      --steps-per-evaluation 300 --seed $seed --json > "$run.json"
  done
done
"$tools/ship_model.py" albert_nano_en --run run/nano --evaluation evaluation.json \
  --finetuned run/sst2_*.json --text .
