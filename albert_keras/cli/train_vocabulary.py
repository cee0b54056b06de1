"""Train a SentencePiece vocabulary with ALBERT's special pieces.

example:
  albert-keras train-vocabulary corpus/*.txt --vocabulary-size 30000 --output 30k.model
"""

from albert_keras.cli.results import print_results
from albert_keras.cli.tokenizer_arguments import (
    add_preprocessing_arguments,
    preprocessing,
)
from albert_keras.data import read_documents
from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece


def add_arguments(parser):
    parser.add_argument(
        "texts", nargs="+", help="text or JSONL files, folders or globs"
    )
    parser.add_argument("--output", required=True, help="the model file to write")
    parser.add_argument("--vocabulary-size", type=int, default=30000)
    parser.add_argument("--character-coverage", type=float, default=0.99995)
    parser.add_argument("--byte-fallback", action="store_true")
    add_preprocessing_arguments(parser)


def run(arguments):
    sentences = (s for document in read_documents(arguments.texts) for s in document)
    proto = train_sentence_piece(
        sentences,
        arguments.vocabulary_size,
        arguments.output,
        character_coverage=arguments.character_coverage,
        byte_fallback=arguments.byte_fallback,
        **preprocessing(arguments),
    )
    results = {
        "output": arguments.output,
        "vocabulary_size": AlbertTokenizer(proto).vocabulary_size(),
        "bytes": len(proto),
    }
    print_results("vocabulary", results, arguments.json)
