"""Arguments that choose a tokenizer, and what stands behind them."""

import pathlib

from albert_keras import tokenizers
from albert_keras.shipped import SHIPPED_MODELS


def add_tokenizer_arguments(parser, required=False):
    """Adds `--tokenizer` and how text is prepared for it."""
    parser.add_argument(
        "--tokenizer",
        required=required,
        help="SentencePiece model, vocab.txt, a folder with either or a preset, or the "
        f"name of a shipped model: {', '.join(SHIPPED_MODELS)}",
    )
    add_preprocessing_arguments(parser)


def add_preprocessing_arguments(parser):
    """Adds what a bare vocabulary file does not say of itself."""
    parser.add_argument("--cased", action="store_true", help="keep capital letters")
    parser.add_argument("--keep-accents", action="store_true", help="keep accents")


def preprocessing(arguments):
    """Returns the options of `AlbertTokenizer` and `train_sentence_piece`."""
    return {
        "lowercase": not arguments.cased,
        "strip_accents": not arguments.keep_accents,
    }


def load_tokenizer(path, arguments):
    """Loads a tokenizer from what `path` is.

    Args:
        path: str or path. A run, or what `albert_keras.tokenizers.load_tokenizer` takes.
        arguments: Those of `add_preprocessing_arguments`; a preset has its own.

    Raises:
        FileNotFoundError: If nothing of that kind stands there.
        ValueError: If it is not a tokenizer.
    """
    model = pathlib.Path(path, "model")
    return tokenizers.load_tokenizer(
        model if model.is_dir() else path,
        lowercase=False if arguments.cased else None,
        strip_accents=False if arguments.keep_accents else None,
    )
