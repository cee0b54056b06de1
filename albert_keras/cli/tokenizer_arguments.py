"""Arguments that choose a tokenizer, and what stands behind them."""

import pathlib

from albert_keras.shipped import SHIPPED_MODELS, find_preset
from albert_keras.tokenizers import AlbertTokenizer, WordPieceTokenizer
from albert_keras.tokenizers.base import EncoderTokenizer


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
        path: str or path. A run, a preset, a SentencePiece `.model`, a `vocab.txt`, a
            folder with one of these two, or the name of a shipped model.
        arguments: Those of `add_preprocessing_arguments`; a preset has its own.

    Raises:
        FileNotFoundError: If nothing of that kind stands there.
        ValueError: If it is not a tokenizer.
    """
    path = pathlib.Path(find_preset(path))
    if path.is_dir():
        preset = path / "model" if (path / "model").is_dir() else path
        if (preset / "tokenizer.json").is_file():
            return EncoderTokenizer.from_preset(preset)
        found = [*path.glob("*.model"), *path.glob("vocab.txt")]
        if len(found) != 1:
            raise FileNotFoundError(
                "A folder must hold one tokenizer: a preset, a `.model` or a vocab.txt. "
                f"Received: '{path}' with {len(found)}. Name the file by --tokenizer."
            )
        path = found[0]
    if not path.is_file():
        raise FileNotFoundError(
            "The tokenizer must be a SentencePiece model, a vocab.txt, a preset or a "
            f"shipped model ({', '.join(SHIPPED_MODELS)}). "
            f"Received: '{path}', where there is nothing."
        )
    if path.suffix == ".txt":
        return WordPieceTokenizer(str(path), lowercase=not arguments.cased)
    return AlbertTokenizer(str(path), **preprocessing(arguments))
