"""Small models of every class, and their inputs."""

import numpy as np

from albert_keras.models import AlbertBackbone
from tests.helpers import make_config, make_inputs

INPUTS = make_inputs()
NUM_CHOICES = 4
# (rows, choices, length)
CHOICES = {
    name: value.reshape(3, NUM_CHOICES, 13) for name, value in make_inputs(12).items()
}
# On [CLS] and the text, but not on a question of three pieces, which ends in [SEP].
ALLOWED = INPUTS["padding_mask"] * ~np.isin(np.arange(13), [1, 2, 3])
SPAN_INPUTS = {**INPUTS, "answer_mask": ALLOWED.astype("int32")}
STARTS = np.array([4, 0, 5, 4, 0], "int32")
ANSWERS = {**SPAN_INPUTS, "start_positions": STARTS}
MASKS = np.random.default_rng(5).integers(0, 6, (5, 6), "int32")
WORDS = {**INPUTS, "mask_positions": MASKS}


def make_model(kind, dtype=None, fields=(), **options):
    """Returns a model of a class on a backbone of one layer.

    Args:
        kind: Class of a model with a head.
        dtype: Keras dtype policy of the backbone.
        fields: Dict of fields of the backbone's config.
        **options: Other arguments of the class.
    """
    config = make_config(**{"num_layers": 1, **dict(fields)})
    return kind(AlbertBackbone(**config.to_dict(), dtype=dtype), **options)
