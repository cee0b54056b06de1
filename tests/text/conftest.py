"""The small corpus and its tokenizer."""

from tests.pretraining.conftest import documents, tokenizer

__all__ = ["documents", "tokenizer"]
