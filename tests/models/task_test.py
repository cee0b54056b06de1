"""Compiled models that come back from a file as they went in."""

import keras
import numpy as np
import pytest

from albert_keras.models import AlbertBackbone, AlbertPretrainer, AlbertTextClassifier
from albert_keras.optimizers import Lamb, WarmupPolynomialDecay
from tests.helpers import make_config, make_inputs, max_difference

INPUTS = make_inputs()


def make_classifier():
    backbone = AlbertBackbone(**make_config().to_dict())
    return AlbertTextClassifier(backbone, num_classes=11, dropout=0.0)


def save_and_load(model, tmp_path):
    model.save(tmp_path / "model.keras")
    return keras.saving.load_model(tmp_path / "model.keras")


@pytest.mark.parametrize("num_steps", [0, 2])
def test_loaded_model_goes_on_training_as_the_saved_one(num_steps, tmp_path):
    model = make_classifier()
    schedule = WarmupPolynomialDecay(0.01, decay_steps=10, warmup_steps=1)
    model.compile(
        Lamb(schedule, weight_decay=0.03, global_clipnorm=1.0),
        loss=keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction="sum"
        ),
        metrics=[keras.metrics.SparseTopKCategoricalAccuracy(3, name="top")],
        run_eagerly=True,
    )
    labels = np.arange(5)
    for _ in range(num_steps):
        model.train_on_batch(INPUTS, labels)
    restored = save_and_load(model, tmp_path)
    assert restored.optimizer.get_config() == model.optimizer.get_config()
    assert restored.loss.get_config() == model.loss.get_config()
    assert int(restored.optimizer.iterations) == num_steps

    logs = [
        m.train_on_batch(INPUTS, labels, return_dict=True) for m in (model, restored)
    ]
    assert logs[0].keys() == logs[1].keys() == {"loss", "top"}
    assert logs[0]["loss"] == logs[1]["loss"]
    assert max_difference(restored.get_weights(), model.get_weights()) == 0.0
    assert (
        max_difference(restored.optimizer.variables, model.optimizer.variables) == 0.0
    )


def test_losses_by_output_come_back(tmp_path):
    model = AlbertPretrainer(AlbertBackbone(**make_config().to_dict()))
    restored = save_and_load(model, tmp_path)
    assert set(restored.loss) == {"mlm_logits", "sop_logits"}
    for name, loss in restored.loss.items():
        assert loss.get_config() == model.loss[name].get_config()
