"""Prediction of masked words in raw text."""

import dataclasses
import itertools
import os
from typing import Any, NamedTuple

import numpy as np

from albert_keras.checks import check_is_list, check_positive_integer
from albert_keras.preprocessors.texts import pack_rows
from albert_keras.tasks.finetuning import PreparedRows
from albert_keras.tasks.prediction import BATCH_SIZE, check_kind, preprocessor_of
from albert_keras.tasks.reading import as_columns
from albert_keras.text import text_batches
from albert_keras.text.text_files import UTF_8, Decoding, read_lines
from albert_keras.tokenizers import packing
from albert_keras.tokenizers.ragged import offsets_of


class Filling(NamedTuple):
    """A token for a `[MASK]`, and its probability."""

    token: str
    probability: float


def fill_mask(model, texts, *, top_k=5, tokenizer=None, batch_size=BATCH_SIZE):
    """Returns the most probable tokens for each `[MASK]` in texts.

    Args:
        model: `AlbertMaskedLM` or `AlbertPretrainer`; or a preset, folder, name or
            address for `AlbertMaskedLM.from_preset`.
        texts: list of str, each with at least one `[MASK]`.
        top_k: int. Number of tokens for each mask. Default 5, as in transformers.
        tokenizer: A tokenizer of this package. Default: that of the model's preprocessor.
        batch_size: int. Texts of a batch. Default 32.

    Returns:
        List with a list for each text, with a list for each mask in it, of `Filling`,
        the most probable first.

    Raises:
        TypeError: If the model is of another kind, or `texts` is a str.
        ValueError: If a text has no `[MASK]`, or is too long for the model.

    Example:

    ```python
    ak.tasks.fill_mask("albert_base_v2", ["The capital of France is [MASK]."])
    ```
    """
    from albert_keras.models import AlbertMaskedLM

    if isinstance(model, (str, os.PathLike)):
        model = AlbertMaskedLM.from_preset(model)
    check_kind(model, "AlbertMaskedLM", "AlbertPretrainer")
    check_is_list("texts", texts)
    check_positive_integer("top_k", top_k)
    check_positive_integer("batch_size", batch_size)
    task = MaskedWordsTask(tokenizer or preprocessor_of(model).tokenizer, top_k)
    return task.predict(model, task.prepare(texts), batch_size)


@dataclasses.dataclass(frozen=True)
class MaskedWordsTask:
    """The task of filling masks; each text must have a `[MASK]`.

    Its methods are those of `FinetuningTask` that predict.

    Args:
        tokenizer: A tokenizer of this package.
        top_k: int. Number of tokens for each mask.
        decoding: `Decoding` of files.
        longest: int, or None. Maximum number of tokens of a text, special tokens
            included. Default: the number of positions of the backbone.
    """

    tokenizer: Any = None
    top_k: int = 5
    decoding: Decoding = UTF_8
    longest: int | None = None

    def rows_of(self, samples):
        """Returns the texts of samples, which are texts or dicts with a `text`."""
        (texts,) = as_columns(samples, ("text",))
        return texts

    def read(self, source, *, needs_labels=False):
        """Returns the lines of a text file."""
        return [line.strip() for line in read_lines(source, self.decoding)]

    def prepare(self, rows):
        """Returns `PreparedRows` without examples."""
        return PreparedRows(rows, None)

    def has_submission(self, path):
        """Returns False: predictions are written as a table."""
        return False

    def predict(self, model, prepared, batch_size):
        """Returns what `fill_mask` returns."""
        texts, encoder = prepared.rows, self.tokenizer.encoder
        rows = encoder.encode_with_masks(texts)
        longest = self.longest or model.backbone.max_sequence_length
        _check_masks(texts, rows, encoder, longest)
        filled = {}
        for batch in text_batches(texts, batch_size=batch_size):
            fillings = _fill(model, [rows[row] for row in batch], encoder, self.top_k)
            filled.update(zip(batch.tolist(), fillings, strict=True))
        return [filled[row] for row in range(len(rows))]

    def describe(self, prepared, predictions):
        """Returns texts, the best tokens as `label`, and all tokens as `masks`."""
        return [
            {
                "text": text,
                "label": " ".join(mask[0].token for mask in masks),
                "masks": [[token._asdict() for token in mask] for mask in masks],
            }
            for text, masks in zip(prepared.rows, predictions, strict=True)
        ]


def _check_masks(texts, rows, encoder, max_sequence_length):
    for text, row in zip(texts, rows, strict=True):
        if encoder.mask_token_id not in row:
            raise ValueError(f"A text must have a [MASK]. Received: {text!r}.")
        num_tokens = len(row) + packing.num_special_tokens(1)
        if num_tokens > max_sequence_length:
            raise ValueError(
                f"A text must have at most {max_sequence_length} tokens, special ones "
                f"included. Received: {num_tokens}, {text[:40]!r}... Shorten it."
            )


def _fill(model, rows, encoder, top_k):
    """Returns the `Filling`s of the masks in a batch, lists of token ids."""
    from scipy.special import softmax

    from albert_keras.train_step import infer

    segments = packing.whole_texts(
        np.concatenate(rows), offsets_of([len(row) for row in rows])
    )
    examples = pack_rows(encoder, [segments])
    features = examples.padded(np.arange(len(rows)), examples.lengths.max())
    # (batch, length)
    is_mask = features["token_ids"] == encoder.mask_token_id
    num_masks = is_mask.sum(axis=1)
    # (batch, max_masks)
    features["mask_positions"] = packing.pad_rows(
        offsets_of(num_masks), np.nonzero(is_mask)[1].astype(np.int32), num_masks.max()
    )
    outputs = infer(model, features)
    logits = outputs["mlm_logits"] if isinstance(outputs, dict) else outputs
    # Without padding, (num_masks of all texts, vocabulary_size).
    logits = logits[np.arange(num_masks.max()) < num_masks[:, np.newaxis]]
    # A table of embeddings may have more rows than there are tokens.
    logits = logits[:, : encoder.vocabulary_size()]
    probabilities = softmax(logits, axis=-1)
    best = np.argsort(-probabilities, axis=-1)[:, :top_k].tolist()
    fillings = []
    for row, ids in zip(probabilities, best, strict=True):
        tokens = encoder.decode_batch([[index] for index in ids])
        fillings.append([*map(Filling, tokens, row[ids].tolist())])
    return [fillings[a:b] for a, b in itertools.pairwise(offsets_of(num_masks))]
