"""Search for the vocabulary of a checkpoint, and loading of its tokenizer."""

import os
import pathlib
import tempfile

from albert_keras.files import read_json
from albert_keras.hub import known_names, like_known, local_files
from albert_keras.preset_files import is_own
from albert_keras.tokenizers.sentence_piece_model import load_processor, read_proto

PRESET_FILE = "tokenizer.json"
# The published names are 30k-clean.model and vocab_chinese.txt (Google), spiece.model
# (Hugging Face) and vocabulary.spm (keras-hub).
PATTERNS = ("*.model", "*.spm", "vocab*.txt")
# In the folder of the weights, of a SavedModel, of a preset.
FOLDERS = (".", "assets", "assets/tokenizer")


def vocabulary_files(path):
    """Returns the vocabulary files of a folder, a checkpoint's prefix or a file.

    A prefix is a path without `.index`; the vocabulary is in its folder.
    """
    path = pathlib.Path(path)
    if path.is_file():
        return [path]
    if path.is_dir():
        folder = path
    elif pathlib.Path(f"{path}.index").is_file():
        folder = path.parent
    else:
        return []  # A missing file must not be replaced by a neighbour.
    return [
        file
        for inner in FOLDERS
        for pattern in PATTERNS
        for file in sorted((folder / inner).glob(pattern))
    ]


def find_vocabulary(path):
    """Returns the only one of `vocabulary_files`, or `None`."""
    found = vocabulary_files(path)
    if len(found) > 1:
        raise ValueError(
            "A folder must hold one vocabulary. Received: "
            f"{', '.join(map(str, found))}. Name the right file."
        )
    return found[0] if found else None


def count_pieces(vocabulary_file):
    """Returns the number of pieces in a SentencePiece model or a `.txt` of tokens."""
    if vocabulary_file.suffix == ".txt":
        with open(vocabulary_file, "rb") as lines:
            return sum(1 for _ in lines)
    return len(load_processor(read_proto(vocabulary_file)))


def load_tokenizer(path, *, lowercase=None, strip_accents=None):
    """Loads the tokenizer of a checkpoint or preset, or from a vocabulary file.

    Args:
        path: str or path. A preset, a checkpoint or its folder, a SentencePiece model,
            a vocabulary of one token a line; or a name or address, see
            `load_checkpoint`.
        lowercase: bool, or `None` to read it from Hugging Face's `tokenizer_config.json`
            beside the vocabulary. Without that file it is `True`, as for all released
            vocabularies. Presets of this package store it; another value is refused.
        strip_accents: bool or `None`, read in the same way. Only for SentencePiece.

    Returns:
        `AlbertTokenizer` or `WordPieceTokenizer`.

    Example:

    ```python
    tokenizer = ak.load_tokenizer("albert_base_v2/")
    ```
    """
    path = pathlib.Path(local_files(path))
    if is_own(path, PRESET_FILE):
        from albert_keras.tokenizers.base import EncoderTokenizer

        tokenizer = EncoderTokenizer.from_preset(path)
        _check_its_own(tokenizer.get_config(), lowercase, strip_accents)
        return tokenizer
    file = find_vocabulary(path)
    if file is None:
        raise FileNotFoundError(
            "The tokenizer, by default the checkpoint's, must be a SentencePiece model, "
            "a vocab.txt, a folder with either or a preset, an address such as "
            f"hf://USER/MODEL, or a name ({known_names()}). "
            f"Received: '{path}'{like_known(path)}, where there is nothing."
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
    """Checks that the options given by the caller equal those of the tokenizer."""
    asked = {"lowercase": lowercase, "strip_accents": strip_accents}
    for name, value in asked.items():
        if value is not None and value != config.get(name):
            raise ValueError(
                "`lowercase` and `strip_accents` must be those of the preset; a "
                "WordPiece vocabulary has no `strip_accents`. "
                f"Received: {name}={value}, where it is {config.get(name)}. Leave it out."
            )


def check_vocabulary_size(tokenizer, vocabulary_size):
    """Checks that the vocabularies of a tokenizer and a model are of the same size."""
    if tokenizer.vocabulary_size() != vocabulary_size:
        raise ValueError(
            "The tokenizer must have the model's vocabulary. Received: a tokenizer of "
            f"{tokenizer.vocabulary_size()} pieces, a model of {vocabulary_size}."
        )


def save_vocabulary(tokenizer, folder):
    """Writes a vocabulary under its published name: `spiece.model` or `vocab.txt`."""
    with tempfile.TemporaryDirectory(dir=folder) as assets:
        tokenizer.save_assets(assets)
        (asset,) = tokenizer.file_assets
        name = "vocab.txt" if asset.endswith(".txt") else "spiece.model"
        os.replace(pathlib.Path(assets, asset), pathlib.Path(folder, name))


def _stated_bool(vocabulary_file, key, default):
    file = vocabulary_file.with_name("tokenizer_config.json")
    value = read_json(file).get(key, default) if file.is_file() else default
    if not isinstance(value, bool):
        raise ValueError(
            f"`{key}` must be true or false. Received: {key}={value!r} in '{file}'."
        )
    return value
