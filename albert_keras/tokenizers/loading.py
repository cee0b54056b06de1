"""Finding the vocabulary that lies beside weights, and loading its tokenizer."""

import os
import pathlib
import tempfile

from albert_keras.files import read_json
from albert_keras.shipped import SHIPPED_MODELS, find_preset
from albert_keras.tokenizers.sentence_piece_model import load_processor, read_proto

PRESET_FILE = "tokenizer.json"
# By the names they were published under: 30k-clean.model and vocab_chinese.txt
# (Google), spiece.model (Hugging Face), vocabulary.spm (keras-hub).
PATTERNS = ("*.model", "*.spm", "vocab*.txt")
# Beside the weights, in a SavedModel, in a preset.
FOLDERS = (".", "assets", "assets/tokenizer")


def vocabulary_files(path):
    """Returns a list of the vocabulary files in or beside a checkpoint.

    Args:
        path: str or path. A folder, the prefix of a checkpoint, or a vocabulary file.
    """
    path = pathlib.Path(path)
    if path.is_file():
        return [path]
    folder = path if path.is_dir() else path.parent
    return [
        file
        for inner in FOLDERS
        for pattern in PATTERNS
        for file in sorted((folder / inner).glob(pattern))
    ]


def find_vocabulary(path):
    """Returns the vocabulary file in or beside a checkpoint, or `None`.

    Args:
        path: As for `vocabulary_files`.

    Raises:
        ValueError: If there are several, so that none can be chosen.
    """
    found = vocabulary_files(path)
    if len(found) > 1:
        raise ValueError(
            "A folder must hold one vocabulary. Received: "
            f"{', '.join(map(str, found))}. Name the right file."
        )
    return found[0] if found else None


def count_pieces(vocabulary_file):
    """Returns the number of pieces in a vocabulary file.

    Args:
        vocabulary_file: path of a SentencePiece model, or of a text of one token a line.

    Raises:
        ValueError: If it is neither.
    """
    if vocabulary_file.suffix == ".txt":
        with open(vocabulary_file, "rb") as lines:
            return sum(1 for _ in lines)
    return len(load_processor(read_proto(vocabulary_file)))


def load_tokenizer(path, *, lowercase=None, strip_accents=None):
    """Loads the tokenizer that lies beside weights, or a vocabulary file.

    Args:
        path: str or path. A preset, a checkpoint or its folder, a SentencePiece model,
            a vocabulary of one token a line, or the name of a shipped model.
        lowercase: bool, or `None` for what the files say, as `tokenizer_config.json` of
            Hugging Face does, and else `True`, as all released vocabularies need it. A
            preset of ours has its own, and takes no other.
        strip_accents: bool or `None`, the same. Only of SentencePiece models.

    Returns:
        `AlbertTokenizer` or `WordPieceTokenizer`.

    Raises:
        FileNotFoundError: If nothing of that kind stands there.
        ValueError: If there are several vocabularies, or one that is damaged; or if an
            option does not go with what was found.

    Example:

    ```python
    tokenizer = ak.load_tokenizer("albert_base_v2/")
    ```
    """
    path = pathlib.Path(find_preset(path))
    if (path / PRESET_FILE).is_file() and _is_ours(path / PRESET_FILE):
        from albert_keras.tokenizers.base import EncoderTokenizer

        tokenizer = EncoderTokenizer.from_preset(path)
        _check_its_own(tokenizer.get_config(), lowercase, strip_accents)
        return tokenizer
    file = find_vocabulary(path)
    if file is None:
        raise FileNotFoundError(
            "The tokenizer must be a SentencePiece model, a vocab.txt, a folder with "
            "either or a preset, or a shipped model "
            f"({', '.join(SHIPPED_MODELS)}). Received: '{path}', where there is nothing."
        )
    if lowercase is None:
        lowercase = _stated_bool(file, "do_lower_case", True)
    if file.suffix == ".txt":
        from albert_keras.tokenizers.word_piece import WordPieceTokenizer

        _check_its_own({}, None, strip_accents)
        return WordPieceTokenizer(str(file), lowercase=lowercase)
    from albert_keras.tokenizers.sentence_piece import AlbertTokenizer

    if strip_accents is None:
        strip_accents = not _stated_bool(file, "keep_accents", False)
    return AlbertTokenizer(str(file), lowercase, strip_accents=strip_accents)


def _check_its_own(config, lowercase, strip_accents):
    """Checks that what is asked of a tokenizer is what it does anyway."""
    asked = {"lowercase": lowercase, "strip_accents": strip_accents}
    for name, value in asked.items():
        if value is not None and value != config.get(name):
            raise ValueError(
                "A preset has its own way to prepare text, and a WordPiece vocabulary no "
                f"accents to keep apart. Received: {name}={value}, where it is "
                f"{config.get(name)}. Leave it out."
            )


def check_vocabulary_size(tokenizer, vocabulary_size):
    """Checks that a tokenizer has as many pieces as a model.

    Args:
        tokenizer: One of ours.
        vocabulary_size: int. The model's.

    Raises:
        ValueError: If it has another number; the message says both.
    """
    if tokenizer.vocabulary_size() != vocabulary_size:
        raise ValueError(
            "The tokenizer must have the model's vocabulary. Received: a tokenizer of "
            f"{tokenizer.vocabulary_size()} pieces, a model of {vocabulary_size}."
        )


def save_vocabulary(tokenizer, folder):
    """Writes a tokenizer's vocabulary as others name it.

    Args:
        tokenizer: `AlbertTokenizer`, which gives `spiece.model`, or
            `WordPieceTokenizer`, which gives `vocab.txt`.
        folder: path.
    """
    with tempfile.TemporaryDirectory(dir=folder) as assets:
        tokenizer.save_assets(assets)
        (asset,) = tokenizer.file_assets
        name = "vocab.txt" if asset.endswith(".txt") else "spiece.model"
        os.replace(pathlib.Path(assets, asset), pathlib.Path(folder, name))


def _is_ours(file):
    return str(read_json(file).get("registered_name")).startswith("albert_keras>")


def _stated_bool(vocabulary_file, key, default):
    file = vocabulary_file.with_name("tokenizer_config.json")
    value = read_json(file).get(key, default) if file.is_file() else default
    if not isinstance(value, bool):
        raise ValueError(
            f"`{key}` must be true or false. Received: {key}={value!r} in '{file}'."
        )
    return value
