#!/usr/bin/env bash
# Packs what gpu_hour.sh and gpu_day.sh need on a GPU machine without a network.
#
#   tools/gpu_pack.sh PACK TOKENIZER TEXT ...
#
# TOKENIZER: a SentencePiece model. PACK gets the text as token ids, of which some
# documents are held out, the vocabulary, and wheels for Python ${PYTHON_VERSION:-3.12}
# on Linux x86_64. The checkout itself must travel with it.
set -euo pipefail
if [ $# -lt 3 ]; then
  echo "usage: $0 PACK TOKENIZER TEXT ..." >&2
  exit 2
fi
pack=$1 tokenizer=$2
shift 2
mkdir -p "$pack/wheels"
cp "$tokenizer" "$pack/vocabulary.model"
albert-keras prepare-data "$@" --tokenizer "$tokenizer" --output "$pack/tokens" \
  --sequence-length 128
platforms=(--platform manylinux1_x86_64)
for version in 2_17 2_24 2_27 2_28; do
  platforms+=(--platform "manylinux_${version}_x86_64")
done
# What machines with JAX and PyTorch may lack.
python3 -m pip download -q --no-deps --only-binary=:all: -d "$pack/wheels" \
  --python-version "${PYTHON_VERSION:-3.12}" "${platforms[@]}" \
  absl-py filelock google-crc32c h5py kagglehub kagglesdk keras keras-hub lazy-loader \
  markdown-it-py mdurl ml-dtypes namex optree packaging pygments regex rich safetensors \
  sentencepiece tokenizers
du -sh "$pack"/*
