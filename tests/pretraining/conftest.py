"""A small corpus and a tokenizer trained on it, for tests that need no real text."""

import io

import numpy as np
import pytest
import sentencepiece

from albert_keras.tokenizers import AlbertTokenizer


@pytest.fixture(scope="session")
def documents():
    """83 documents of 1 to 40 sentences of 3 to 18 random words."""
    rng = np.random.default_rng(11)
    letters = list("abcdefghijklmnopqrst")
    words = ["".join(rng.choice(letters, size)) for size in rng.integers(2, 9, 293)]
    return [
        [" ".join(rng.choice(words, size)) + " ." for size in sentence_sizes]
        for sentence_sizes in (
            rng.integers(3, 19, size=size) for size in rng.integers(1, 41, size=83)
        )
    ]


@pytest.fixture(scope="session")
def tokenizer(documents):
    """An `AlbertTokenizer` of 331 pieces with ALBERT's special ones."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(sentence for document in documents for sentence in document),
        model_writer=model,
        vocab_size=331,
        pad_id=0,
        unk_id=1,
        bos_id=-1,
        eos_id=-1,
        control_symbols=["[CLS]", "[SEP]", "[MASK]"],
        minloglevel=2,
    )
    return AlbertTokenizer(model.getvalue())
