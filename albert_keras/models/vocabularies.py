"""The tokenizer of a model: one that is given, or the one beside its files."""

import warnings

from albert_keras.tokenizers.base import EncoderTokenizer
from albert_keras.tokenizers.loading import load_tokenizer, vocabulary_files


def find_tokenizer(path, tokenizer, vocabulary_size):
    """Returns a tokenizer that fits a token table, or `None` if there is none.

    Args:
        path: str or path of a preset or checkpoint, or `None`.
        tokenizer: Tokenizer of this package; str or path for `load_tokenizer`; `None`
            for the one beside the checkpoint, with a warning if it cannot be read; or
            `False` for none.
        vocabulary_size: int. Rows of the token table.

    Raises:
        ValueError: If it has more pieces than the table has rows.
    """
    if tokenizer is None and path is not None and vocabulary_files(path):
        try:
            tokenizer = load_tokenizer(path)
        except ValueError as error:
            warnings.warn(f"No tokenizer: {error} Or pass `tokenizer`.", stacklevel=4)
    if tokenizer is None or tokenizer is False:
        return None
    if not isinstance(tokenizer, EncoderTokenizer):
        # Of another object the error shows what it is.
        tokenizer = load_tokenizer(str(tokenizer))
    check_vocabulary_size(tokenizer, vocabulary_size)
    num_unused = vocabulary_size - tokenizer.vocabulary_size()
    if num_unused:
        warnings.warn(
            f"The token table has {num_unused} more rows than the tokenizer has pieces, "
            f"{tokenizer.vocabulary_size()}: the last rows are not used.",
            stacklevel=4,
        )
    return tokenizer


def check_vocabulary_size(tokenizer, vocabulary_size):
    """Checks that a token table has a row for each piece of a tokenizer."""
    num_pieces = tokenizer.vocabulary_size()
    if num_pieces > vocabulary_size:
        raise ValueError(
            "The token table must have a row for each piece of the tokenizer. Received: "
            f"a tokenizer of {num_pieces} pieces, a model of {vocabulary_size}. Pass the "
            "model's own `tokenizer`, or `tokenizer=False` and call `resize_vocabulary`; "
            f"`convert --vocabulary-size {num_pieces}` does that."
        )
