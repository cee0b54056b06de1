"""Vocabularies for the tests: files of the shared folder, and a few tokens."""

ENGLISH = "data/tokenizers/30k-clean.model"
GERMAN = "data/tokenizers/second_sentencepiece/german-30k.model"
CHINESE = "data/tokenizers/albert_zh/vocab.txt"

TOKENS = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing", "##s", "好", "!"),
]
