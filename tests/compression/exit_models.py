"""A model whose rows leave at different depths, and rules for it."""

import keras

from albert_keras.compression import ExitRule
from albert_keras.models import AlbertBackbone, AlbertEarlyExitClassifier
from tests.helpers import make_config, make_inputs, randomize

NUM_LAYERS = 5
INPUTS = make_inputs(batch=11)
RULES_OF_CLASSES = [
    ExitRule("patience"),
    ExitRule("patience", patience=2, min_depth=3),
    ExitRule(
        "patient_confidence",
        threshold=0.41,
        patience=2,
        temperatures=(0.5, 0.8, 2.0, 0.7, 1.0),
    ),
    ExitRule("fixed_depth", min_depth=2),
]


def make_model(num_classes=3, **fields):
    """Returns a model with random weights, in which each layer changes the answer."""
    keras.utils.set_random_seed(5)
    config = make_config(num_layers=NUM_LAYERS, initializer_range=0.2, **fields)
    backbone = AlbertBackbone(**config.to_dict())
    return randomize(AlbertEarlyExitClassifier(backbone, num_classes))
