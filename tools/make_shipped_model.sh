#!/usr/bin/env bash
# Trains a model of saved_models from text, on one or two cores. An interrupted run resumes
# when the script is called again.
#
#   tools/make_shipped_model.sh albert_nano_en|albert_mini_en CORPORA GLUE QUESTIONS WORK
#
# CORPORA: a folder of SOURCE.jsonl or SOURCE.jsonl.gz, of the sources in
# tools/model_cards/sources.json, and of stack_exchange, which is only measured.
# GLUE: the folders of GLUE's tasks. QUESTIONS: train-v1.1.json of SQuAD.
set -euo pipefail
if [ $# -ne 5 ]; then
  echo "usage: $0 albert_nano_en|albert_mini_en CORPORA GLUE QUESTIONS WORK" >&2
  exit 2
fi
name=$1
case $name in
  albert_nano_en | albert_mini_en) ;;
  *) echo "$0 makes albert_nano_en and albert_mini_en. Received: $name" >&2; exit 2 ;;
esac
# Check the requirements of the last step before the first one.
python3 -c "import albert_keras, matplotlib" || {
  echo "$0 needs the extra plots: pip install 'albert_keras[plots]'" >&2
  exit 1
}
mkdir -p "$5"
questions=$(realpath "$4")
tools=$(realpath "$(dirname "$0")")
corpora=$(realpath "$2")
ln -sfn "$(realpath "$3")" "$5/GLUE"
cd "$5"

# prepare-data takes a rewritten file for another corpus, so existing files are kept.
read_source() {
  if [ -f "$corpora/$1.jsonl" ]; then cat "$corpora/$1.jsonl"; else zcat "$corpora/$1.jsonl.gz"; fi
}
take() { # FILE AWK-CONDITION SOURCE
  [ -f "$1" ] || { read_source "$3" | awk "$2" > "$1.part" && mv "$1.part" "$1"; }
}
measured="enwiki_articles gutenberg_nltk squad_wikipedia us_inaugural us_state_union"
for source in $measured; do
  take "train_$source.jsonl" 'NR % 20' "$source"
  take "held_$source.jsonl" 'NR % 20 == 0' "$source"
done
[ -f vocab.model ] || albert-keras train-vocabulary $(printf 'train_%s.jsonl ' $measured) \
  --vocabulary-size 8000 --output vocab.model
further=$(python3 -c "import json; print(*json.load(open('$tools/model_cards/sources.json')))")
for source in $further; do
  [ -f "train_$source.jsonl" ] || take "train_$source.jsonl" 1 "$source"
done
mkdir -p other
take other/stack_exchange.jsonl 'NR <= 400' stack_exchange

prepare_tokens() { # FOLDER FILES
  albert-keras prepare-data "${@:2}" --tokenizer vocab.model --output "$1" \
    --sequence-length 128 --seed 1 --validation-split 0
}
prepare_records() { # FOLDER FILES
  albert-keras prepare-data "${@:2}" --tokenizer vocab.model --output "$1" \
    --sequence-length 128 --format tfrecord --dupe-factor 1 --num-shards 1 --seed 2 --validation-split 0
}
pretrain() { # DATA RUN, then options
  albert-keras pretrain --data "$1" --validation-data records_held --run "run/$2" \
    --tokenizer vocab.model "${@:3}"
}
measure() { # RUN
  for text in held other; do
    albert-keras evaluate "run/$1" --data records_$text --json > scores_$text.json
    "$tools/ngram_baselines.py" "run/$1" --data records_$text --scores scores_$text.json \
      > $text.json
  done
  albert-keras convert "run/$1" --head text_embedding --output "embedder_$1"
  "$tools/benchmarks/inference.py" "embedder_$1" --texts GLUE/SST-2/dev.tsv --text-column sentence \
    --only litert_int8 --json > speed.json
}
prepare_tokens tokens train_*.jsonl
prepare_records records_held held_*.jsonl
prepare_records records_other other/*.jsonl
if [ $name = albert_mini_en ]; then
  pretrain tokens first --recipe two_cores_mini --seed 1
  pretrain tokens second --recipe two_cores_mini_long --checkpoint run/first --seed 2
  phases="num_steps=4000,batch_size=32,num_layers=3 num_steps=900,batch_size=32,num_layers=6
    num_steps=400,batch_size=32"
  pretrain tokens third --recipe two_cores_mini_long --checkpoint run/second --seed 3 \
    --phases $phases
  # The sources of the held-out documents five times as often.
  often=$(printf 'train_%s.jsonl ' $measured)
  prepare_tokens tokens_mixed train_*.jsonl $often $often $often $often
  pretrain tokens_mixed fourth --recipe two_cores_mini_long --checkpoint run/third --seed 4 \
    --phases $phases --precision float32 --jit-compile
  measure fourth
  "$tools/ship_model.py" $name --run run/fourth --evaluation held.json --other-text other.json \
    --speed speed.json --text . --output albert_mini_12
  # Three layers learn to compare two texts, and then words and orders again. Long training
  # on words forgets the pairs, so they follow once more.
  "$tools/natural_pairs.py" train_*.jsonl --questions "$questions" --output natural
  learn_pairs() { # SHIPPED OVERLAP_STEPS NEXT, then options of the pretraining
    pairs="--num-layers 3 --batch-size 32 --sequence-length 96 --precision mixed_bfloat16
      --learning-rate 6e-4 --seed 1"
    albert-keras finetune --task pair-regression --train natural/overlap.csv --checkpoint "$1" \
      --run "run/overlap_$3" $pairs --num-steps "$2" --steps-per-evaluation "$2"
    albert-keras finetune --task pair-classification --train natural/answers.csv \
      --checkpoint "run/overlap_$3" --run "run/answers_$3" $pairs --num-steps 1500 \
      --steps-per-evaluation 1500
    "$tools/graft_backbone.py" "$1" "run/answers_$3" "grafted_$3"
    pretrain tokens "$3" --recipe two_cores_mini_long --checkpoint "grafted_$3" \
      --warmup-steps 50 --phases num_steps=900,batch_size=32 "${@:4}"
  }
  learn_pairs albert_mini_12 1500 fifth --learning-rate 8e-4 --seed 6
  pretrain tokens sixth --recipe two_cores_mini_long --checkpoint run/fifth --seed 7 \
    --learning-rate 1e-3 --warmup-steps 300 --phases num_steps=16000,batch_size=32
  measure sixth
  "$tools/ship_model.py" $name --run run/sixth --evaluation held.json --other-text other.json \
    --speed speed.json --text . --output albert_mini_long
  learn_pairs albert_mini_long 800 $name --learning-rate 6e-4 --seed 8
  note="Before the first and the third of the last three runs, 3 of the 12 layers were trained on
natural pairs: 1,500 and 800 steps on shared words, and 1,500 steps each on answers to questions. "
else
  # Three runs on the five sources that are measured, and one on all.
  prepare_tokens tokens_measured $(printf 'train_%s.jsonl ' $measured)
  pretrain tokens_measured short --recipe two_cores --max-sequence-length 32 --seed 1
  pretrain tokens_measured long --recipe two_cores_long --checkpoint run/short \
    --max-sequence-length 128 --seed 2
  pretrain tokens_measured longer --recipe two_cores_long --checkpoint run/long \
    --max-sequence-length 128 --num-steps 4000 --warmup-steps 50 --seed 3
  pretrain tokens $name --recipe two_cores_long --checkpoint run/longer \
    --num-steps 7000 --warmup-steps 200 --precision mixed_bfloat16 --seed 4
fi
measure $name

compare() { # FOLDER SEEDS TASKS, then options
  "$tools/experiments/compare_with_random.py" --checkpoint run/$name --output "$1" --seeds "$2" $3 \
    "${@:4}"
}
sst2="--task=sst-2=GLUE/SST-2" rte="--task=rte=GLUE/RTE" tasks=""
for task in cola=CoLA mrpc=MRPC sts-b=STS-B qqp=QQP qnli=QNLI; do
  tasks+=" --task=${task%=*}=GLUE/${task#*=}"
done
if [ $name = albert_mini_en ]; then
  compare compared/tasks 3 "$sst2 $tasks $rte" --
else
  compare compared/sst2 5 "$sst2" -- --learning-rate sweep --batch-size 32 --sequence-length 64 \
    --num-steps 600 --steps-per-evaluation 300
  compare compared/tasks 3 "$tasks $rte" -- --learning-rate sweep --batch-size 32 --sequence-length 128 \
    --num-steps 400 --steps-per-evaluation 200
fi
"$tools/ship_model.py" $name --run run/$name --evaluation held.json --other-text other.json \
  --speed speed.json --comparisons compared/*/results.json --text . \
  --note "${note:-}\`tools/make_shipped_model.sh $name\` runs all steps, from the text to this page."
