"""Older checkpoints of brightmart/albert_zh, with the projection before the addition.

Token vectors are projected from E to H without a bias; positions, segments and the layer
norm have width H, and the masked-word head ends in the transposed projection. The product
of both tables, V x H, gives the same numbers: the loaded model has
`embedding_dim == hidden_dim` and no projection. Newer checkpoints have Google's layout.

Reference: brightmart/albert_zh modeling.py `embedding_lookup_factorized`,
`embedding_postprocessor`; run_pretraining.py `get_masked_lm_output`.
"""

import dataclasses

from albert_keras.converters import google
from albert_keras.converters.name_table import (
    ATTENTION,
    FEED_FORWARD,
    dense_rows,
    norm_rows,
    table_row,
)
from albert_keras.converters.stored_tensors import StoredTensors
from albert_keras.converters.tensorflow_file import find_prefix, read_tensorflow
from albert_keras.system.files import read_json

TOKEN_TABLE = "bert/embeddings/word_embeddings"
PROJECTION = "bert/embeddings/word_embeddings_2"
PRODUCT = f"{TOKEN_TABLE} @ {PROJECTION}"

_LAYER = "bert/encoder/layer_shared"

BACKBONE_ROWS = (
    *table_row(PRODUCT, "token_embedding"),
    *table_row("bert/embeddings/token_type_embeddings", "segment_embedding"),
    *table_row("bert/embeddings/position_embeddings", "position_embedding"),
    *norm_rows("bert/embeddings/LayerNorm", "embedding/layer_norm"),
    *dense_rows(f"{_LAYER}/attention/self/query", f"{ATTENTION}/query"),
    *dense_rows(f"{_LAYER}/attention/self/key", f"{ATTENTION}/key"),
    *dense_rows(f"{_LAYER}/attention/self/value", f"{ATTENTION}/value"),
    *dense_rows(f"{_LAYER}/attention/output/dense", f"{ATTENTION}/projection"),
    *norm_rows(f"{_LAYER}/attention/output/LayerNorm", f"{ATTENTION}/layer_norm"),
    *dense_rows(f"{_LAYER}/intermediate/dense", f"{FEED_FORWARD}/intermediate"),
    *dense_rows(f"{_LAYER}/output/dense", f"{FEED_FORWARD}/projection"),
    *norm_rows(f"{_LAYER}/output/LayerNorm", f"{FEED_FORWARD}/layer_norm"),
    *dense_rows("bert/pooler/dense", "pooler"),
)
LAYOUTS = google.LAYOUTS

is_known_extra = google.is_known_extra


def find_checkpoint(path):
    """Returns the prefix of a checkpoint of this layout, or `None`."""
    prefix = find_prefix(path)
    return prefix if prefix and PROJECTION in read_tensorflow(prefix) else None


def read_config(checkpoint):
    """Returns the `AlbertConfig` of the config beside a checkpoint."""
    file = google.find_config_file([checkpoint.parent], checkpoint)
    stated = read_json(file)
    norm_order = stated.pop("ln_type", "postln")
    if norm_order != "postln":
        raise ValueError(
            "Layers must be normalized after their sub-layers. "
            f"Received: ln_type={norm_order!r} in '{file}'."
        )
    return google.CONFIG_FORMAT.read(stated)


def adapt_config(config):
    """Returns the config of the loaded model, whose tables have hidden width."""
    return dataclasses.replace(config, embedding_dim=config.hidden_dim)


def read_tensors(checkpoint):
    """Returns the variables as `StoredTensors`, the two tables as their product."""
    tensors = google.read_tensors(checkpoint)
    shapes = dict(tensors.shapes)
    table, projection = shapes.pop(TOKEN_TABLE, None), shapes.pop(PROJECTION)
    if table is None or not len(table) == len(projection) == 2:
        raise ValueError(
            "A token table and its projection must be matrices. "
            f"Received: '{checkpoint}': {TOKEN_TABLE} {table}, {PROJECTION} {projection}."
        )
    shapes[PRODUCT] = (table[0], projection[1])

    def read(name):
        if name == PRODUCT:
            return tensors.read(TOKEN_TABLE) @ tensors.read(PROJECTION)
        return tensors.read(name)

    return StoredTensors(shapes, read)
