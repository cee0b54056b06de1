"""The guard stops fine-tuning that gives one answer, and no other."""

import json
import math

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.training import CollapseGuard, TrainingCollapsedError
from tests.training import small_run

# Of two classes, 3 to 1; one per cent less is 0.5567.
PRIOR = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))


def losses(values, every=10):
    """Entries of the log at steps 10, 20, ..."""
    return [
        {"step": every * (i + 1), "loss": value, "learning_rate": 0.25}
        for i, value in enumerate(values)
    ]


def evaluations(**columns):
    """Entries of evaluations at steps 10, 20, ..."""
    rows = zip(*columns.values(), strict=True)
    return [
        {"step": 10 * i, "learning_rate": 0.25, **dict(zip(columns, row, strict=True))}
        for i, row in enumerate(rows, start=1)
    ]


def collapse(entries, prior=PRIOR, resume_at=None, warmup_steps=0, **options):
    """Returns the error of a guard that stops at one of the entries, or None."""
    options = {"num_steps": 40, **options}
    guard = CollapseGuard(prior, warmup_steps, **options)
    for entry in entries:
        if entry["step"] == resume_at:
            state = json.loads(json.dumps(guard.state()))
            guard = CollapseGuard(prior, warmup_steps, **options)
            guard.restore(state)
        try:
            guard.write(entry, None)
        except TrainingCollapsedError as error:
            return error
    return None


def stopped_at(entries, *arguments, **options):
    """Returns the step at which a guard stops, or None."""
    error = collapse(entries, *arguments, **options)
    return error and error.step


@pytest.mark.parametrize(
    ("step", "num_labels", "majority", "stops"),
    [(31, 1, 0.7, True), (31, 2, 0.7, False), (30, 1, 0.7, False), (31, 1, 1.0, False)],
)
def test_a_result_of_one_label_is_an_error_whatever_the_loss(
    step, num_labels, majority, stops
):
    guard = CollapseGuard(PRIOR, 30, num_steps=40)
    scores = {"num_predicted_labels": num_labels, "majority_accuracy": majority}
    entry = {"step": step, "learning_rate": 0.25}
    if not stops:
        return guard.judge_result(entry, scores)
    with pytest.raises(TrainingCollapsedError, match="all held-out rows got one label"):
        guard.judge_result(entry, scores)


@pytest.mark.parametrize("resume_at", [None, 20, 50])
@pytest.mark.parametrize(
    ("values", "step"),
    [
        # The first entry is of steps before it: four more make 40 steps.
        ([9.0] + [PRIOR] * 4, 50),
        ([PRIOR] * 9, 50),
        ([0.3, 0.558, 0.556, 0.558, 0.556], 50),
        ([0.3, 0.556, 0.556, 0.557, 0.556], None),
        # Of the second 40 steps; the fifth entry counts for the first ones alone.
        ([0.3, 0.2, 0.2, 0.2, 5.0, 0.6, 0.6, 0.6, 0.6], 50),
        ([0.3, 0.2, 0.2, 0.2, 0.2, 0.6, 0.6, 0.6, 0.6], 90),
        ([0.3, 0.2, 0.2, 0.2, 0.2, 0.6, 0.6, 0.6, 0.4], None),
        ([PRIOR] * 4, None),
    ],
)
def test_loss_of_a_constant_answer(values, step, resume_at):
    assert stopped_at(losses(values), resume_at=resume_at) == step


def test_losses_of_the_warm_up_do_not_count():
    values = [PRIOR] * 7
    assert stopped_at(losses(values), warmup_steps=20) == 70
    assert stopped_at(losses(values), warmup_steps=30) is None


def test_losses_of_skipped_steps_do_not_count():
    # float16 has some that are not finite, and their mean stays so.
    values = [0.3, math.nan, 0.2, math.inf, 0.2, 0.2]
    assert stopped_at(losses(values)) is None
    assert stopped_at(losses([math.nan, *[PRIOR] * 5])) == 60


@pytest.mark.parametrize("resume_at", [None, 20, 30])
@pytest.mark.parametrize(
    ("numbers", "step"),
    [([1, 1], 20), ([2, 1, 3, 1, 1, 1], 50), ([1, 2, 1, 2, 1], None)],
)
def test_one_label_for_all_rows(numbers, step, resume_at):
    entries = evaluations(val_num_predicted_labels=numbers)
    assert stopped_at(entries, resume_at=resume_at) == step


def test_one_answer_is_a_collapse_while_the_loss_is_stuck():
    one_label = evaluations(val_num_predicted_labels=[1, 1])
    assert stopped_at([one_label[0], *losses([PRIOR, PRIOR]), one_label[1]]) == 20
    # A model that learns still answers by the commonest label for a while.
    learning = losses([0.9 * PRIOR, 0.8 * PRIOR])
    assert stopped_at([one_label[0], *learning, one_label[1]]) is None


def test_number_of_evaluations_and_warm_up():
    entries = evaluations(val_num_predicted_labels=[1] * 5)
    assert stopped_at(entries, num_evaluations=1) == 10
    assert stopped_at(entries, num_evaluations=4) == 40
    assert stopped_at(entries, warmup_steps=20) == 40


def test_one_label_is_right_where_there_is_one():
    entries = evaluations(
        val_num_predicted_labels=[1, 1, 1, 1],
        val_majority_accuracy=[1.0, 1.0, 0.9, 0.9],
    )
    assert stopped_at(entries) == 40


@pytest.mark.parametrize("unit", [1.0, 1000.0, 1e-4])
def test_flat_predictions_of_a_regression_in_any_unit(unit):
    # Targets spread by 2 units; a thousandth of that is flat.
    prior = (2.0 * unit) ** 2
    flat = evaluations(val_spread=[0.0019 * unit] * 2)
    assert stopped_at(flat, prior) == 20
    assert stopped_at(evaluations(val_spread=[0.0021 * unit] * 5), prior) is None


def test_the_error_has_step_loss_rate_and_remedy():
    error = collapse(losses([0.7, 0.6, 0.5]), 0.5, num_steps=20)
    assert (
        "by step 30 the loss was 0.550 on average over 20 steps, that of a constant "
        "answer is 0.500, learning rate 0.25. Train in another run folder with "
        "--learning-rate sweep"
    ) in error.reason
    assert str(error) == error.reason
    error = collapse(evaluations(val_num_predicted_labels=[1, 1]))
    assert "all held-out rows got one answer at 2 evaluations" in error.reason


# === In a training ===


def learnable(step):
    """Batches whose labels follow from their tokens, unlike those of `small_run`."""
    draw = np.random.default_rng(5)
    labels = draw.integers(0, 2, (30, small_run.BATCH), "int32")
    shape = (*labels.shape, small_run.WIDTH)
    token_ids = draw.integers(0, 30, shape, "int32") + 30 * labels[..., np.newaxis]
    data = tf.data.Dataset.from_tensor_slices(({"token_ids": token_ids}, labels))
    return data.repeat().skip(step)


def train(
    folder, make_dataset=small_run.make_dataset, num_steps=24, rate=0.02, bias=0.0
):
    """Trains with a guard that judges the loss at step 14, and evaluations at 5, ..."""
    trainer, model = small_run.make_trainer(
        folder, num_steps, rate=rate, steps_per_evaluation=5, steps_per_log=2
    )
    model.layers[-1].bias.assign([bias, 0.0])

    def evaluate():
        logits = model.predict(make_dataset(0).take(3), verbose=0)
        return {"loss": 0.0, "num_predicted_labels": len(set(logits.argmax(-1)))}

    guard = CollapseGuard(math.log(2), 3, num_steps=9)
    trainer.fit(model, make_dataset, evaluate, guards={"collapse": guard})
    return guard


def test_training_that_learns_continues(tmp_path):
    guard = train(tmp_path, learnable, rate=0.3)
    # Evaluated at 20 and 24 with several answers; the loss was judged at 14 and 24.
    assert guard.state()["num_constant"] == 0
    assert [step for step, _ in guard.state()["window"]] == [24]


def test_training_on_noise_stops_at_the_same_step_when_resumed(tmp_path):
    train(tmp_path, num_steps=8)
    with pytest.raises(TrainingCollapsedError, match="step 14 the loss was 0.[67]"):
        train(tmp_path)


def test_training_to_one_answer_stops_at_the_same_step_when_resumed(tmp_path):
    train(tmp_path, learnable, num_steps=5, bias=99.0)
    with pytest.raises(TrainingCollapsedError, match="step 10 all .* at 2 evaluations"):
        train(tmp_path, learnable)
