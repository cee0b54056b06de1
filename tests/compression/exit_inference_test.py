"""Early exit on text, and as other backends than TensorFlow have it."""

import keras
import numpy as np
import pytest
from scipy.special import softmax

from albert_keras.compression import (
    EarlyExit,
    ExitRule,
    logits_at,
    simulate_exits,
    tensorflow_exits,
)
from tests.compression.exit_models import INPUTS, RULES_OF_CLASSES, make_model
from tests.helpers import max_difference, randomize
from tests.tasks.task_checks import make_tokenizer


def test_rows_leave_on_other_backends_where_simulation_says(monkeypatch):
    model = make_model(sharing="none")
    logits = keras.ops.convert_to_numpy(model.exit_logits(INPUTS))
    monkeypatch.setattr(keras.config, "backend", lambda: "other")
    for rule in RULES_OF_CLASSES[:3]:
        exits = simulate_exits(rule, logits)
        outputs = EarlyExit(model, rule)(INPUTS)
        assert outputs["exit_depth"].tolist() == exits.tolist()
        assert max_difference(outputs["logits"], logits_at(logits, exits)) < 1e-5


def test_the_rule_of_the_model_is_the_default():
    model = make_model()

    def depths(*rule):
        exits = EarlyExit(model, *rule)(INPUTS)["exit_depth"]
        return set(keras.ops.convert_to_numpy(exits).tolist())

    assert depths() == {5}
    model.exit_rule = {"name": "fixed_depth", "min_depth": 2}
    assert depths() == {2}
    assert len(depths(ExitRule("patience"))) > 1
    with pytest.raises(ValueError, match="a model of regression"):
        EarlyExit(model, ExitRule("difference", threshold=1.0))


def test_repeated_predictions_are_compiled_once_for_the_model_as_it_is(monkeypatch):
    model, traces = make_model(), []
    rule = ExitRule("fixed_depth", min_depth=4)
    exit_early = tensorflow_exits.exit_early
    monkeypatch.setattr(
        tensorflow_exits,
        "exit_early",
        lambda *given: (traces.append(given), exit_early(*given))[1],
    )

    def check(num_traces):
        for rows, length in ((11, 7), (2, 5)):
            inputs = {name: x[:rows, :length] for name, x in INPUTS.items()}
            logits = EarlyExit(model, rule)(inputs)["logits"]
            assert max_difference(logits, model.exit_logits(inputs)[:, 3]) < 1e-5
        assert len(traces) == num_traces

    check(1)
    randomize(model)
    check(1)
    # Quantization replaces the variables.
    model.quantize("int8")
    check(2)


def test_texts_leave_early():
    tokenizer = make_tokenizer()
    model = make_model(vocabulary_size=tokenizer.vocabulary_size())
    texts = ["a good film", "dull", "a very long and rather dull film " * 2, "no"]
    with pytest.raises(ValueError, match="needs a tokenizer"):
        EarlyExit(model).predict(texts)
    model.preprocessor = model.preprocessor_cls(tokenizer, sequence_length=17)
    logits = keras.ops.convert_to_numpy(model.exit_logits(model.preprocessor(texts)))
    confidences = np.sort(softmax(logits[:, 0], axis=-1).max(axis=-1))
    rule = ExitRule("confidence", threshold=float(confidences[1:3].mean()))
    exits = EarlyExit(model, rule)
    outputs = exits.predict(texts, batch_size=1)
    expected = simulate_exits(exits.rule, logits)
    assert outputs["exit_depth"].tolist() == expected.tolist()
    assert max_difference(outputs["logits"], logits_at(logits, expected)) < 1e-5
    assert (expected == 1).sum() == 2
