#!/usr/bin/env python3
"""Compares the speed of making pretraining examples with the rules in plain Python.

All make examples of length 512 with masked 3-grams of whole words from the same
documents. Printed are the seconds for a million tokens of the finished examples. The
reference is `tests/plain_pretraining_data.py`, which follows the steps of
google-research/albert `create_pretraining_data.py`; the original itself took 15 seconds.
`tokenizing` gives the ids in arrays, without examples; `sentencepiece_alone` gives lists
of ids, of text that is preprocessed before.

example:
  tools/benchmarks/data.py --text corpora/en --tokenizer 30k-clean.model --processor-time
"""

import itertools
import pathlib
import sys

import numpy as np
import sentencepiece

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras import sample
from albert_keras.pretraining.documents import tokenize_documents
from albert_keras.pretraining.examples import (
    GROUP_EXAMPLES,
    PretrainingDataConfig,
    cut_examples,
    make_examples,
)
from albert_keras.pretraining.masking import draw_masking
from albert_keras.pretraining.pairs import draw_pairs
from albert_keras.text import read_documents
from albert_keras.tokenizers import (
    AlbertTokenizer,
    load_tokenizer,
    preprocess_text,
    train_sentence_piece,
)
from tests import plain_pretraining_data as plain
from tools.benchmarks import harness
from tools.benchmarks.harness import Contender, seconds_of


def main(argv=None):
    """Measures, and prints the results."""
    parser = harness.make_parser(__doc__, CONTENDERS)
    parser.add_argument("--text", nargs="+", help="default: the embedded sample")
    parser.add_argument("--tokenizer", help="as of `pretrain` (default: the sample's)")
    parser.add_argument("--max-characters", type=int, default=4_000_000)
    arguments = parser.parse_args(argv)
    harness.compare(__file__, CONTENDERS, arguments, {}, "s a million", 1)


def load(work):
    """Returns the tokenizer, and documents of `max_characters` in all, spread evenly."""
    documents = list(read_documents(work["text"] or [str(sample.CORPUS)]))
    num_characters = sum(len(s) for document in documents for s in document)
    documents = documents[:: max(1, num_characters // work["max_characters"])]
    if work["tokenizer"]:
        return load_tokenizer(work["tokenizer"]), documents
    sentences = itertools.chain.from_iterable(documents)
    return AlbertTokenizer(train_sentence_piece(sentences, 800)), documents


def contender(make):
    """Returns the contender of a function that makes tokens.

    Args:
        make: Function of tokenizer and documents. It returns a function that makes all
            tokens, and returns their number.
    """

    def prepare(work):
        make_tokens, made = make(*load(work)), []

        def measure():
            seconds = seconds_of(lambda: made.append(make_tokens()), work)
            return {"tokens": 1e6 * seconds / made[-1]}

        measure()
        return measure

    return Contender(prepare)


def reference(tokenizer, lines):
    """Makes examples one word at a time."""
    processor, config = processor_of(tokenizer), PretrainingDataConfig()

    def draws_of_rows(rng):
        shape = (1, config.sequence_length, config.num_predictions)
        while True:
            draws = draw_masking(rng, *shape)._asdict()
            yield {name: values[0].tolist() for name, values in draws.items()}

    def make():
        documents = []
        for document in lines:
            sentences = [plain.tokenize(processor, line) for line in document]
            if sentences := [*filter(None, sentences)]:
                documents.append(sentences)
        rng = np.random.default_rng(0)
        draws = draw_pairs(rng, len(documents), sum(map(len, documents)))
        examples = plain.make_examples(
            documents,
            {name: values.tolist() for name, values in draws._asdict().items()},
            draws_of_rows(rng),
            processor,
            config,
        )
        return sum(sum(example["padding_mask"]) for example in examples)

    return make


def from_text(tokenizer, lines):
    """Makes examples as the package does."""

    def make():
        return count_tokens(tokenizer, tokenize_documents(lines, tokenizer.encoder))

    return make


def from_ids(tokenizer, lines):
    """Makes examples as the package does, of token ids."""
    documents = tokenize_documents(lines, tokenizer.encoder)
    return lambda: count_tokens(tokenizer, documents)


def count_tokens(tokenizer, documents):
    """Makes examples; returns the number of their tokens."""
    rng, config = np.random.default_rng(0), PretrainingDataConfig()
    cut = cut_examples(documents, rng, config)
    num_tokens = 0
    for begin in range(0, cut.num_examples, GROUP_EXAMPLES):
        rows = np.arange(begin, min(begin + GROUP_EXAMPLES, cut.num_examples))
        arrays, _ = make_examples(cut, rows, rng, tokenizer.encoder, config)
        num_tokens += int(arrays["padding_mask"].sum())
    return num_tokens


def tokenizing(tokenizer, lines):
    """Makes token ids in arrays."""
    texts = [*itertools.chain.from_iterable(lines)]
    return lambda: len(tokenizer.encoder.encode_ragged(texts)[0])


def sentencepiece_alone(tokenizer, lines):
    """Makes token ids in lists, by SentencePiece."""
    texts = [*map(preprocess_text, itertools.chain.from_iterable(lines))]
    processor = processor_of(tokenizer)
    return lambda: sum(map(len, processor.Encode(texts)))


def processor_of(tokenizer):
    return sentencepiece.SentencePieceProcessor(model_proto=tokenizer.encoder.proto)


CONTENDERS = {
    "reference": contender(reference),
    "albert_keras": contender(from_text),
    "albert_keras_from_ids": contender(from_ids),
    "tokenizing": contender(tokenizing),
    "sentencepiece_alone": contender(sentencepiece_alone),
}


if __name__ == "__main__":
    main()
