"""Finds the vocabulary of a checkpoint and loads its tokenizer."""

import os
import pathlib
import warnings

from albert_keras.checks import shortened
from albert_keras.presets.hub import local_files
from albert_keras.presets.preset_files import is_own, load_object
from albert_keras.tokenizers import huggingface_files
from albert_keras.tokenizers.huggingface_files import TOKENIZER_FILE

# The published names are 30k-clean.model and vocab_chinese.txt (Google), spiece.model
# (Hugging Face) and vocabulary.spm (keras-hub).
_PATTERNS = ("*.model", "*.spm", "vocab*.txt")
# Places in the folder of the weights, of a SavedModel and of a preset.
_FOLDERS = (".", "assets", "assets/tokenizer")


def find_vocabulary(path):
    """Returns the vocabulary file of a folder, checkpoint prefix or file, or `None`.

    A prefix is a path without `.index`; its folder has the vocabulary. In a folder with
    several files transformers' rule decides: `tokenizer.json`, or else the file of the
    class that the config states.

    Raises:
        ValueError: If the rule does not choose one of several files.
    """
    path = pathlib.Path(path)
    if path.is_file():
        return path
    if path.is_dir():
        folder = path
    elif pathlib.Path(f"{path}.index").is_file():
        folder = path.parent
    else:
        return None  # A file beside a missing one must not replace it.
    if huggingface_files.is_tokenizer_file(folder / TOKENIZER_FILE):
        return folder / TOKENIZER_FILE
    places = [(folder / inner, each) for inner in _FOLDERS for each in _PATTERNS]
    found = [file for place, each in places for file in sorted(place.glob(each))]
    name = huggingface_files.stated_class(folder)
    if name is not None and len(found) > 1:
        is_bert = name.startswith("Bert")
        found = [file for file in found if (file.suffix == ".txt") == is_bert]
    if len(found) > 1:
        raise ValueError(
            "A folder must hold one vocabulary. Received: "
            f"{', '.join(map(str, found))}. Name the right file."
        )
    return found[0] if found else None


def load_tokenizer(path, *, lowercase=None, strip_accents=None):
    """Loads the tokenizer of a checkpoint or preset, or from a vocabulary file.

    Args:
        path: str or path. A preset, a checkpoint or its folder, a SentencePiece model,
            a vocabulary of one token per line, a `tokenizer.json` of Hugging Face; or a
            name or address, see `load_checkpoint`.
        lowercase: bool, or `None` to read it from Hugging Face's `tokenizer.json` or
            `tokenizer_config.json` beside the vocabulary. Without such files it is
            `True`, as for all released vocabularies. A preset of this package stores it.
        strip_accents: bool or `None`, read in the same way.

    Returns:
        `AlbertTokenizer` or `WordPieceTokenizer`. With Hugging Face's files, doubled
        quotes become `"`, as in transformers. An `AlbertTokenizer` finds tokens that were
        added to the vocabulary anywhere in text; a `WordPieceTokenizer` finds them as
        separate words, and a warning names them.

    Raises:
        FileNotFoundError: If there is no vocabulary.
        ValueError: If the files are damaged, or a class or the rules are not known.

    Example:

    ```python
    tokenizer = ak.load_tokenizer("albert_base_v2/")
    ```
    """
    asked = {"lowercase": lowercase, "strip_accents": strip_accents}
    options = {name: value for name, value in asked.items() if value is not None}
    return read_tokenizer(object, path, TOKENIZER_FILE, options)


def _load(path, options, config_file=TOKENIZER_FILE):
    """Returns the tokenizer at a local path, or `None`; see `load_tokenizer`."""
    # These import Keras, and register the classes that presets name.
    from albert_keras.tokenizers.sentence_piece import AlbertTokenizer
    from albert_keras.tokenizers.word_piece import WordPieceTokenizer

    if is_own(path / config_file):
        # The vocabulary is in the assets. The file must not lead to another one.
        tokenizer = load_object(path / config_file, options, ("proto", "vocabulary"))
        tokenizer.load_preset_assets(str(path))
        return tokenizer
    file = find_vocabulary(path)
    if file is None:
        return None
    vocabulary, stated, added = huggingface_files.read_tokenizer_files(file)
    is_model = isinstance(vocabulary, bytes)
    kind = AlbertTokenizer if is_model else WordPieceTokenizer
    tokenizer = kind(vocabulary, **stated | options)
    words = _added_words(tokenizer, added, file)
    if words and not is_model:
        warnings.warn(
            f"Tokens were added to '{file}'. transformers finds them anywhere in text, "
            "this tokenizer at most as separate words: "
            f"{shortened(', '.join(words.values()))}.",
            stacklevel=4,
        )
    return tokenizer.with_words(words) if words else tokenizer


def read_tokenizer(cls, preset, config_file, options):
    """Returns a tokenizer of a class; see `EncoderTokenizer.from_preset`."""
    path = local_files(preset)
    tokenizer = _load(path, options, config_file)
    if tokenizer is None:
        files = ", ".join(sorted(os.listdir(path))) if path.is_dir() else ""
        raise FileNotFoundError(
            "The tokenizer, by default the checkpoint's, must be a SentencePiece model, "
            "a vocab.txt, a tokenizer.json, a folder with one of them or a preset. "
            f"Received: '{path}', with {shortened(files) or 'no files'}."
        )
    if not isinstance(tokenizer, cls):
        raise ValueError(
            f"The preset must hold a `{cls.__name__}`. "
            f"Received: preset={str(preset)!r} with a `{type(tokenizer).__name__}`."
        )
    return tokenizer


def _added_words(tokenizer, added, file):
    """Returns the added tokens that are not special ones, str by id, sorted."""
    size = tokenizer.vocabulary_size()
    special = tokenizer.special_tokens
    others = {i: added[i] for i in sorted(added) if added[i] not in special}
    tokens = {index: token for index, token in others.items() if index >= size}
    if [*tokens] != [*range(size, size + len(tokens))]:
        raise ValueError(
            "Added tokens must have ids that continue the vocabulary's. Received: "
            f"{shortened(str(tokens))} for '{file}' of {size}. Pass another `tokenizer`."
        )
    return others


def find_tokenizer(path, given, vocabulary_size):
    """Returns a tokenizer that fits a token table, or `None` if there is none.

    Args:
        path: Path of a preset or checkpoint.
        given: Tokenizer of this package; str or path for `load_tokenizer`; `None`
            for the one of the checkpoint, with a warning if it cannot be read; or `False`
            for none.
        vocabulary_size: int. Rows of the token table.

    Raises:
        ValueError: If it has more tokens than the table has rows.
    """
    from albert_keras.tokenizers.base import EncoderTokenizer

    found = given
    if given is None:
        try:
            found = _load(path, {})
        except ValueError as error:
            warnings.warn(f"The model has no tokenizer: {error}", stacklevel=5)
    elif given and not isinstance(given, EncoderTokenizer):
        # As a str, so that the error shows an object of another kind.
        found = load_tokenizer(str(given))
    if not isinstance(found, EncoderTokenizer):
        return None
    check_vocabulary_size(found, vocabulary_size)
    num_unused = vocabulary_size - found.vocabulary_size()
    if num_unused:
        warnings.warn(
            f"The token table has {num_unused} more rows than the tokenizer has tokens, "
            f"{found.vocabulary_size()}: the last rows are not used.",
            stacklevel=5,
        )
    return found


def check_vocabulary_size(tokenizer, vocabulary_size):
    """Checks that a token table has a row for each token of a tokenizer."""
    num_tokens = tokenizer.vocabulary_size()
    if num_tokens > vocabulary_size:
        raise ValueError(
            "The token table must have a row for each token of the tokenizer. Received: "
            f"a tokenizer of {num_tokens} tokens, a model of {vocabulary_size}. Pass the "
            "model's own `tokenizer`, or `tokenizer=False` and call `resize_vocabulary`; "
            f"`convert --vocabulary-size {num_tokens}` does that."
        )
