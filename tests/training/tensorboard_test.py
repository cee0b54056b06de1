"""Scalars that TensorBoard reads back."""

import pytest

from albert_keras.training.tensorboard import TensorBoardScalars

pytest.importorskip("tensorboard")


class FakeModel:
    optimizer = object()


class FakeLamb:
    def trust_ratios(self):
        return {"dense/kernel": 1.75}


class FakeScaled:
    inner_optimizer = FakeLamb()


def scalars_in(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder)).Reload()
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def write(folder, entries, model, last_step=0):
    scalars = TensorBoardScalars(folder, last_step)
    for entry in entries:
        scalars.write(entry, model)
    scalars.close()


def test_training_and_held_out_share_their_tags(tmp_path):
    entries = [
        {"step": 3, "seconds": 1.0, "loss": 2.5, "gradient_norm": 0.75},
        {"step": 6, "seconds": 2.0, "loss": 2.25, "gradient_norm": 0.5},
        {"step": 6, "seconds": 3.0, "learning_rate": 0.125, "val_loss": 2.375},
    ]
    write(tmp_path, entries, FakeModel())
    assert scalars_in(tmp_path / "train") == {
        "loss": [(3, 2.5), (6, 2.25)],
        "gradient_norm": [(3, 0.75), (6, 0.5)],
    }
    assert scalars_in(tmp_path / "validation") == {"loss": [(6, 2.375)]}


def test_steps_that_a_resumed_training_repeats_appear_once(tmp_path):
    entries = [{"step": step, "val_loss": 2.5} for step in (3, 6, 9)]
    write(tmp_path, entries, FakeModel())
    write(tmp_path, [{"step": 9, "val_loss": 2.25}], FakeModel(), last_step=6)
    found = scalars_in(tmp_path / "validation")["loss"]
    assert found == [(3, 2.5), (6, 2.5), (9, 2.25)]


@pytest.mark.parametrize("optimizer", [FakeLamb, FakeScaled])
def test_trust_ratios_of_layers(optimizer, tmp_path):
    model = FakeModel()
    # Loss scaling wraps LAMB.
    model.optimizer = optimizer()
    write(tmp_path, [{"step": 3, "loss": 2.5}], model)
    found = scalars_in(tmp_path / "train")
    assert found["trust_ratio/dense/kernel"] == [(3, 1.75)]
