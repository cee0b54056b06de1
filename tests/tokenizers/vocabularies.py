"""Vocabularies to test with: files of the shared folder, and a handful of tokens."""

ENGLISH = "data/tokenizers/30k-clean.model"
GERMAN = "data/tokenizers/second_sentencepiece/german-30k.model"
CHINESE = "data/tokenizers/albert_zh/vocab.txt"

TOKENS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "play",
    "##ing",
    "##s",
    "好",
    "!",
]
