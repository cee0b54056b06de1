"""Train a SentencePiece vocabulary with ALBERT's special pieces.

If the corpus has more than `--max-texts` sentences, training uses a random sample of
them. It needs about 21 bytes of memory for each character: 25 GB for ten million
sentences.

examples:
  albert-keras train-vocabulary corpus/*.txt --vocabulary-size 30000 --output 30k.model
  albert-keras train-vocabulary wiki.parquet --max-texts 2000000 --output 30k.model
"""

import collections
import dataclasses
import inspect

import numpy as np

from albert_keras import tokenizers
from albert_keras.cli.options import add_option, add_options, config_from
from albert_keras.cli.results import print_results
from albert_keras.options import SEEDS, Range, option
from albert_keras.runs.preparation import CorpusOptions, TokenizerOptions
from albert_keras.runs.reporting import note
from albert_keras.system.files import check_replaceable_file
from albert_keras.system.progress import show_stages
from albert_keras.tokenizers.vocabulary import sample_texts, train_sentence_piece

# Texts for the rate of unknown pieces.
_CHECKED_TEXTS = 10_000


def _default(name):
    return inspect.signature(train_sentence_piece).parameters[name].default


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularyOptions(CorpusOptions):
    """Options of the training of a vocabulary."""

    vocabulary_size: int = option(
        "number of pieces, special ones included",
        _default("vocabulary_size"),
        Range(1, 2**24),
    )
    character_coverage: float = option(
        "share of the text's characters that get a piece",
        _default("character_coverage"),
        Range(0.98, 1),
    )
    max_texts: int = option(
        "maximum number of sentences, a random sample",
        _default("max_texts"),
        Range(1, 10**9),
    )
    seed: int = option("seed of the sample", _default("seed"), SEEDS)
    byte_fallback: bool = option("split unknown characters into bytes", False)


USAGE = "TEXT ... --output FILE [options]"


def add_arguments(parser):
    parser.add_argument(
        "texts", nargs="+", help="files, folders, globs or tfds:name[/config][:split]"
    )
    parser.add_argument("--output", required=True, help="the model file to write")
    add_options(parser, VocabularyOptions)
    for name in ("cased", "keep_accents"):
        add_option(parser, TokenizerOptions, name)


def run(arguments):
    preprocessing = {
        "lowercase": not arguments.cased,
        "strip_accents": not arguments.keep_accents,
    }
    check_replaceable_file(arguments.output)
    options = config_from(arguments, VocabularyOptions)
    corpus = options.open_corpus(arguments.texts)
    counts = collections.Counter()
    with show_stages() as progress:
        texts = read_texts(corpus, counts, progress)
        sample = sample_texts(texts, options.max_texts, options.seed)
    note(f"training on {len(sample.texts)} of {sample.num_seen} texts")
    proto = train_sentence_piece(
        sample.texts,
        options.vocabulary_size,
        arguments.output,
        character_coverage=options.character_coverage,
        byte_fallback=options.byte_fallback,
        max_texts=options.max_texts,
        **preprocessing,
    )
    tokenizer = tokenizers.AlbertTokenizer(proto, **preprocessing)
    # At equal distances.
    checked = sample.texts[:: -(-len(sample.texts) // _CHECKED_TEXTS)]
    token_ids, _ = tokenizer.encoder.encode_ragged(checked)
    results = {
        "output": arguments.output,
        "vocabulary_size": tokenizer.vocabulary_size(),
        "bytes": len(proto),
        "texts_seen": sample.num_seen,
        "texts_used": len(sample.texts),
        "unknown_rate": float(np.mean(token_ids == tokenizer.unk_token_id)),
        "replaced_bytes": counts["replaced_bytes"],
    }
    print_results("vocabulary", results, arguments.json)


def read_texts(corpus, counts, progress):
    """Yields the sentences of a corpus, and reports their number to `progress`."""
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
