#!/usr/bin/env python3
"""Speed of making pretraining examples, beside the rules in plain Python.

Both sides make examples of length 512 with masked 3-grams of whole words from the same
documents, on one core, in turn; tokens are counted in the finished examples, time is
the process' own. The reference is `tests/plain_pretraining_data.py`, which states the
steps of google-research/albert `create_pretraining_data.py` one piece at a time; the
original itself made 66,000 tokens a second. `tokenizing` gives the ids in arrays, without
examples; `sentencepiece_alone` gives lists of ids, of text already preprocessed.

example:
  tools/benchmarks/data.py --text corpora/en --tokenizer 30k-clean.model --json
"""

import argparse
import itertools
import json
import pathlib
import statistics
import sys
import time

import numpy as np
import sentencepiece

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from albert_keras import sample  # noqa: E402
from albert_keras.pretraining.documents import tokenize_documents  # noqa: E402
from albert_keras.pretraining.examples import (  # noqa: E402
    GROUP_EXAMPLES,
    PretrainingDataConfig,
    cut_examples,
    make_examples,
)
from albert_keras.pretraining.masking import draw_masking  # noqa: E402
from albert_keras.pretraining.pairs import draw_pairs  # noqa: E402
from albert_keras.text import read_documents  # noqa: E402
from albert_keras.tokenizers import (  # noqa: E402
    AlbertTokenizer,
    preprocess_text,
    train_sentence_piece,
)
from tests import plain_pretraining_data as plain  # noqa: E402

ORIGINAL_TOKENS_PER_SECOND = 66_000


def main():
    arguments = parse()
    tokenizer, documents = load(arguments)
    config = PretrainingDataConfig(seed=arguments.seed)
    sides = Sides(tokenizer, documents, config)
    # Once unmeasured, so that what is computed at the first use is there.
    sides.project(), sides.from_ids()
    rounds = []
    for number in range(arguments.rounds):
        rounds.append({name: rate(side) for name, side in sides.all().items()})
        print(f"round {number + 1}: {describe(rounds[-1])}", file=sys.stderr)
    results = summarize(rounds)
    results["documents"] = len(documents)
    if arguments.json:
        print(json.dumps(results))
    else:
        for name, value in results.items():
            print(f"{name:34} {value:,.1f}")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", nargs="+", help="default: the embedded sample")
    parser.add_argument(
        "--tokenizer", help="SentencePiece model; default: of the sample"
    )
    parser.add_argument("--max-characters", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def load(arguments):
    """Returns the tokenizer, and documents of `max_characters` in all, spread evenly."""
    texts = arguments.text or [str(sample.CORPUS)]
    documents = list(read_documents(texts))
    num_characters = sum(len(s) for document in documents for s in document)
    step = max(1, num_characters // arguments.max_characters)
    documents = documents[::step]
    if arguments.tokenizer:
        return AlbertTokenizer(arguments.tokenizer), documents
    sentences = itertools.chain.from_iterable(documents)
    return AlbertTokenizer(train_sentence_piece(sentences, 800)), documents


class Sides:
    """The same work done by each side; a side returns the tokens that it made."""

    def __init__(self, tokenizer, documents, config):
        self.encoder = tokenizer.encoder
        self.lines = documents
        self.config = config
        self.processor = sentencepiece.SentencePieceProcessor(
            model_proto=self.encoder.proto
        )
        self.documents = tokenize_documents(documents, self.encoder)
        lines = itertools.chain.from_iterable(documents)
        self.preprocessed = [preprocess_text(line) for line in lines]

    def all(self):
        return {
            "reference": self.reference,
            "project": self.project,
            "project_from_ids": self.from_ids,
            "tokenizing": self.tokenizing,
            "sentencepiece_alone": self.sentencepiece,
        }

    def project(self):
        return self.make(tokenize_documents(self.lines, self.encoder))

    def from_ids(self):
        return self.make(self.documents)

    def make(self, documents):
        rng = np.random.default_rng(self.config.seed)
        cut = cut_examples(documents, rng, self.config)
        num_tokens = 0
        for begin in range(0, cut.num_examples, GROUP_EXAMPLES):
            rows = np.arange(begin, min(begin + GROUP_EXAMPLES, cut.num_examples))
            arrays, _ = make_examples(cut, rows, rng, self.encoder, self.config)
            num_tokens += int(arrays["padding_mask"].sum())
        return num_tokens

    def reference(self):
        documents = [
            [
                pieces
                for line in document
                if (pieces := plain.tokenize(self.processor, line))
            ]
            for document in self.lines
        ]
        documents = [document for document in documents if document]
        rng = np.random.default_rng(self.config.seed)
        draws = draw_pairs(rng, len(documents), sum(map(len, documents)))
        examples = plain.make_examples(
            documents,
            {name: values.tolist() for name, values in draws._asdict().items()},
            self.masking_draws(rng),
            self.processor,
            self.config,
        )
        return sum(sum(example["padding_mask"]) for example in examples)

    def masking_draws(self, rng):
        shape = (1, self.config.sequence_length, self.config.num_predictions)
        while True:
            draws = draw_masking(rng, *shape)._asdict()
            yield {name: values[0].tolist() for name, values in draws.items()}

    def tokenizing(self):
        lines = itertools.chain.from_iterable(self.lines)
        return len(self.encoder.encode_ragged(list(lines))[0])

    def sentencepiece(self):
        return sum(map(len, self.processor.Encode(self.preprocessed)))


def rate(side):
    """Returns the tokens a second of processor time."""
    start = time.process_time()
    num_tokens = side()
    return num_tokens / (time.process_time() - start)


def describe(rates):
    return ", ".join(f"{name} {value:,.0f}" for name, value in rates.items())


def summarize(rounds):
    """Returns medians of the rates, and of the ratios within a round."""
    results = {
        f"{name}_tokens_per_second": statistics.median(r[name] for r in rounds)
        for name in rounds[0]
    }
    ratios = [r["project"] / r["reference"] for r in rounds]
    results["ratio"] = statistics.median(ratios)
    results["smallest_ratio"] = min(ratios)
    results["ratio_to_original"] = (
        results["project_tokens_per_second"] / ORIGINAL_TOKENS_PER_SECOND
    )
    return results


if __name__ == "__main__":
    main()
