"""Vectors of texts as predictions of a task."""

import dataclasses
from typing import Any

from albert_keras.tasks.reading import PlainTexts
from albert_keras.text.text_files import UTF_8, Decoding


@dataclasses.dataclass(frozen=True)
class EmbeddingTask(PlainTexts):
    """Vectors of texts, by `AlbertTextEmbedder.encode_text`.

    Args:
        tokenizer: A tokenizer of this package.
        decoding: `Decoding` of files.
    """

    tokenizer: Any = None
    decoding: Decoding = UTF_8

    def predict(self, model, prepared, batch_size):
        """Returns the vectors, float32 `(num_texts, embedding_dim)`."""
        return model.encode_text(prepared.rows, batch_size=batch_size, verbose=0)

    def describe(self, prepared, predictions):
        """Returns a dict of `text` and `embedding`, a list, for each text."""
        return [
            {"text": text, "embedding": vector}
            for text, vector in zip(prepared.rows, predictions.tolist(), strict=True)
        ]
