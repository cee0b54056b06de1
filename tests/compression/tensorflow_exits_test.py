"""The loop that drops finished rows, against simulation on the logits of all depths."""

import numpy as np
import tensorflow as tf

from albert_keras.compression import ExitRule, logits_at, simulate_exits
from albert_keras.compression.tensorflow_exits import exit_early
from tests.compression.exit_models import (
    INPUTS,
    NUM_LAYERS,
    RULES_OF_CLASSES,
    make_model,
)
from tests.helpers import max_difference


def check_rules(model, rules):
    logits = np.array(model.exit_logits(INPUTS))
    found = set()
    for rule in rules:
        exits = simulate_exits(rule, logits)
        outputs = exit_early(model, rule, INPUTS)
        assert outputs["exit_depth"].numpy().tolist() == exits.tolist()
        assert max_difference(outputs["logits"], logits_at(logits, exits)) < 1e-5
        found |= set(exits)
    return found


def test_rows_leave_where_simulation_says():
    model = make_model(num_groups=2, num_inner_repetitions=2)
    # A patience and a threshold may be inputs of a graph.
    tensors = ExitRule("patience", patience=tf.constant(2), min_depth=3)
    assert len(check_rules(model, [*RULES_OF_CLASSES, tensors])) > 2


def test_numbers_leave_when_they_no_longer_change():
    model = make_model(num_classes=1)
    rules = [ExitRule("difference", threshold=t) for t in (0.1, 0.3)]
    assert len(check_rules(model, rules)) > 2


def test_a_rule_that_never_fires_gives_the_logits_of_full_depth():
    model = make_model()
    rule = ExitRule("fixed_depth", min_depth=NUM_LAYERS)
    # In a graph for any number of rows, also none.
    specs = {n: tf.TensorSpec((None, None), v.dtype) for n, v in INPUTS.items()}
    graph = tf.function(
        lambda features: exit_early(model, rule, features),
        input_signature=[specs],
        autograph=False,
    )
    assert max_difference(graph(INPUTS)["logits"], model(INPUTS)) < 1e-5
    none = graph({name: value[:0] for name, value in INPUTS.items()})
    assert none["logits"].shape == (0, 3)
