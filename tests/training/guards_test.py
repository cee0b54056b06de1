"""Guards, and the counting of steps."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.training.checkpoints import CheckpointFolder
from albert_keras.training.guards import DivergenceWarning, StopWhenNotFinite
from albert_keras.training.steps import spans_of_training, tokens_per_step

NAN, INF = float("nan"), float("inf")


def make_guard(folder, optimizer, **options):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile(optimizer, "mse")
    guard = StopWhenNotFinite(4, CheckpointFolder(folder, keep=3), **options)
    guard.set_model(model)
    guard.set_params({"steps": 99})
    guard.on_epoch_begin(0)
    return guard


@pytest.mark.parametrize(
    "logs",
    [
        {"loss": NAN, "gradient_norm": 1.5},
        {"loss": 2.5, "gradient_norm": INF},
        {"loss": INF},
    ],
    ids=str,
)
def test_stops_with_step_rate_norm_and_checkpoint(tmp_path, logs):
    guard = make_guard(tmp_path, keras.optimizers.SGD(0.125))
    guard.on_train_batch_end(0, {"loss": 2.5, "gradient_norm": 1.5})
    (tmp_path / "step-00000003.npz").touch()
    norm = logs.get("gradient_norm", logs["loss"])
    with pytest.raises(FloatingPointError) as raised:
        guard.on_train_batch_end(1, logs)
    message = str(raised.value)
    assert f"loss={logs['loss']}, gradient norm {norm} at step 6" in message
    assert "learning rate 0.125" in message
    assert str(tmp_path / "step-00000003.npz") in message


def test_held_out_loss_that_is_not_finite_stops_before_it_is_saved(tmp_path):
    guard = make_guard(tmp_path, "sgd")
    guard.on_epoch_end(0, {"loss": 2.5, "val_loss": 2.25})
    with pytest.raises(FloatingPointError, match="held-out loss=nan.*checkpoint: none"):
        guard.on_epoch_end(1, {"loss": 2.5, "val_loss": NAN})


def test_scaled_losses_may_skip_steps_but_not_forever(tmp_path):
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.125))
    guard = make_guard(tmp_path, optimizer, max_skipped_steps=3)
    norms = [INF, NAN, INF, 1.5, INF, INF, NAN]
    for batch, norm in enumerate(norms):
        # The mean is lost with the first skipped step, and stays so.
        guard.on_train_batch_end(batch, {"loss": NAN, "gradient_norm": norm})
    with pytest.raises(FloatingPointError, match="at step 12"):
        guard.on_train_batch_end(7, {"loss": NAN, "gradient_norm": INF})


def entries(losses):
    return [
        {"step": 10 * (i + 1), "loss": loss, "learning_rate": 0.25}
        for i, loss in enumerate(losses)
    ]


def warnings_of(losses, resume_at=None):
    lines = []
    guard = DivergenceWarning(lines.append, patience=30)
    for entry in entries(losses):
        if entry["step"] == resume_at:
            state = json.loads(json.dumps(guard.state()))
            guard = DivergenceWarning(lines.append, patience=30)
            guard.restore(state)
        guard.write({"step": entry["step"], "val_loss": 99.0}, None)
        guard.write(entry, None)
    return lines


@pytest.mark.parametrize("resume_at", [None, 20, 40, 60])
def test_a_loss_that_stays_above_its_first_value_is_warned_of_once(resume_at):
    (line,) = warnings_of([7.0, 8.0, 9.0, 8.5, 8.25, 9.0, 9.5, 9.0], resume_at)
    assert "above its first value for 30 steps: 8.250 at step 50, first 7.000" in line
    assert "learning rate 0.25" in line
    assert line.endswith("Remedies: a lower rate and a longer warm-up.")
    # Losses of skipped steps are not finite, and do not count.
    (line,) = warnings_of([NAN, 7.0, 8.0, 8.0, INF, 8.0, 8.0], resume_at)
    assert "at step 60, first 7.000" in line
    # No warning of losses that fall or recover.
    assert warnings_of([7.0, *np.linspace(7.0, 3.0, 9)], resume_at) == []
    assert warnings_of([7.0, 8.0, 8.0, 8.0, 6.5, 8.0, 8.0, 8.0], resume_at) == []


def test_advice_on_masked_tokens_mentions_the_batch_size():
    lines = []
    guard = DivergenceWarning(lines.append, patience=10)
    for entry in entries([7.0, 8.0, 8.0]):
        guard.write({**entry, "mlm_logits_loss": 6.5}, None)
    assert "batch / 4096" in lines[0]


# === Counting of steps over epochs, resumes and several steps a call ===


@pytest.mark.parametrize("num_steps", [1, 5, 6, 11, 12, 29])
@pytest.mark.parametrize("interval", [1, 5, 7, 30])
def test_parts_end_with_the_intervals(num_steps, interval):
    for begin in range(num_steps + 1):
        spans = spans_of_training(begin, num_steps, interval)
        ends = [begin]
        for step, length, parts in spans:
            assert step == ends[-1]
            ends += [step + length * (part + 1) for part in range(parts)]
        expected = {s for s in range(begin + 1, num_steps) if s % interval == 0}
        assert ends == sorted({begin, num_steps, *expected})
        assert len(spans) <= 3


def test_positions_of_full_batches():
    features = {"token_ids": np.zeros((17, 13)), "segment_ids": np.zeros((17, 13))}
    rows = tf.data.Dataset.from_tensor_slices((features, np.zeros(17)))
    assert tokens_per_step(rows.batch(6, drop_remainder=True)) == 6 * 13
    # The last batch may be smaller.
    assert tokens_per_step(rows.batch(6)) is None
    assert tokens_per_step(rows.batch(6), 2) is None
    assert tokens_per_step(rows.batch(6, drop_remainder=True), 2) == 12 * 13
    # Other data has no tokens.
    for data in (np.zeros((6, 13)), np.zeros(5)):
        assert tokens_per_step(tf.data.Dataset.from_tensor_slices(data)) is None
        assert tokens_per_step([data]) is None
