"""Train a SentencePiece vocabulary with ALBERT's special pieces.

Of a large corpus a sample is drawn, of `--max-texts` sentences. Training takes about 21
bytes of memory for each of their characters: 25 GB for ten million sentences.

examples:
  albert-keras train-vocabulary corpus/*.txt --vocabulary-size 30000 --output 30k.model
  albert-keras train-vocabulary wiki.parquet --max-texts 2000000 --output 30k.model
"""

import collections

import numpy as np

from albert_keras.cli.corpus_arguments import add_corpus_arguments, corpus_of
from albert_keras.cli.progress import show_progress
from albert_keras.cli.results import note, print_results
from albert_keras.cli.tokenizer_arguments import (
    add_preprocessing_arguments,
    preprocessing,
)
from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece
from albert_keras.tokenizers.vocabulary import MAX_TEXTS, sample_texts

# What the stages count.
UNITS = {"read": "bytes", "sample": "texts"}

# Texts that the rate of unknown pieces is measured on.
_CHECKED_TEXTS = 10_000


def add_arguments(parser):
    parser.add_argument(
        "texts", nargs="+", help="files, folders, globs or tfds:name[/config][:split]"
    )
    parser.add_argument("--output", required=True, help="the model file to write")
    parser.add_argument("--vocabulary-size", type=int, default=30000)
    parser.add_argument("--character-coverage", type=float, default=0.99995)
    parser.add_argument("--byte-fallback", action="store_true")
    parser.add_argument(
        "--max-texts",
        type=int,
        default=MAX_TEXTS,
        help=f"train on so many sentences, drawn from all (default: {MAX_TEXTS})",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    add_corpus_arguments(parser)
    add_preprocessing_arguments(parser)


def run(arguments):
    counts = collections.Counter()
    with show_progress(UNITS) as progress:
        texts = read_texts(corpus_of(arguments.texts, arguments), counts, progress)
        sample = sample_texts(texts, arguments.max_texts, arguments.seed)
    note(f"training on {len(sample.texts)} of {sample.num_seen} texts")
    proto = train_sentence_piece(
        sample.texts,
        arguments.vocabulary_size,
        arguments.output,
        character_coverage=arguments.character_coverage,
        byte_fallback=arguments.byte_fallback,
        max_texts=arguments.max_texts,
        **preprocessing(arguments),
    )
    tokenizer = AlbertTokenizer(proto, **preprocessing(arguments))
    results = {
        "output": arguments.output,
        "vocabulary_size": tokenizer.vocabulary_size(),
        "bytes": len(proto),
        "texts_seen": sample.num_seen,
        "texts_used": len(sample.texts),
        "unknown_rate": unknown_rate(tokenizer, sample.texts),
        "replaced_bytes": counts["replaced_bytes"],
    }
    print_results("vocabulary", results, arguments.json)


def read_texts(corpus, counts, progress):
    """Yields the sentences of a corpus and reports how many there were."""
    num_bytes = num_texts = 0
    for part in corpus.parts:
        for number, document in enumerate(corpus.read(part, counts)):
            yield from document
            num_texts += len(document)
            if number % 256 == 0:
                progress("sample", num_texts, None)
        num_bytes += part.num_bytes
        progress("read", num_bytes, corpus.num_bytes)
        progress("sample", num_texts, None)


def unknown_rate(tokenizer, texts):
    """Returns the share of unknown pieces in texts spread evenly over all of them."""
    checked = texts[:: -(-len(texts) // _CHECKED_TEXTS)]
    token_ids, _ = tokenizer.encoder.encode_ragged(checked)
    return float(np.mean(token_ids == tokenizer.unk_token_id))
