"""Older checkpoints of brightmart/albert_zh, which project before adding embeddings.

Token vectors are projected from E to H without a bias. Positions, segments and the layer
norm have width H, and the masked-word head ends in the transposed projection. The product
of both tables, V x H, gives the same numbers, so the loaded model has
`embedding_dim == hidden_dim` and no projection. Newer checkpoints have Google's layout.

Reference: brightmart/albert_zh modeling.py `embedding_lookup_factorized`,
`embedding_postprocessor`; run_pretraining.py `get_masked_lm_output`.
"""

import dataclasses
import functools

from albert_keras.converters import google
from albert_keras.converters.stored_tensors import StoredTensors
from albert_keras.converters.tensorflow_file import find_prefix, read_tensorflow

TOKEN_TABLE = "bert/embeddings/word_embeddings"
PROJECTION = "bert/embeddings/word_embeddings_2"


class AlbertZh(google.GoogleCheckpoint):
    """A checkpoint of this layout; `GoogleCheckpoint` knows its other names."""

    source = "albert_zh"

    @staticmethod
    def find_files(path):
        prefix = find_prefix(path)
        return prefix if prefix and PROJECTION in read_tensorflow(prefix) else None

    @functools.cached_property
    def config(self):
        """The config of the loaded model, whose tables have hidden width."""
        stated = self.given_config or self.read_config()
        return dataclasses.replace(stated, embedding_dim=stated.hidden_dim)

    def read_tensors(self):
        """Returns the `StoredTensors`, with the product of the two tables."""
        tensors = super().read_tensors()
        shapes = dict(tensors.shapes)
        projection = shapes.pop(PROJECTION)
        if table := shapes.get(TOKEN_TABLE):
            shapes[TOKEN_TABLE] = (table[0], projection[-1])

        def read(name):
            if name == TOKEN_TABLE:
                return tensors.read(TOKEN_TABLE) @ tensors.read(PROJECTION)
            return tensors.read(name)

        return StoredTensors(shapes, read)
