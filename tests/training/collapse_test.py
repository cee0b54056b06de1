"""The guard stops fine-tuning that gives one answer, and no other."""

import json
import math

import pytest

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
    ("values", "step", "warmup_steps"),
    [
        # The first entry is of steps before it: four more make 40 steps.
        ([9.0] + [PRIOR] * 4, 50, 0),
        ([PRIOR] * 9, 50, 0),
        ([PRIOR] * 7, 70, 20),
        ([PRIOR] * 7, None, 30),
        ([0.3, 0.561, 0.559, 0.561, 0.559], 50, 0),
        ([0.3, 0.559, 0.559, 0.559, 0.559], None, 0),
        # It begins to learn.
        ([0.3, 0.6, 0.6, 0.559, 0.559], None, 0),
        # Of the second 40 steps; the fifth entry counts for the first ones alone.
        ([0.3, 0.2, 0.2, 0.2, 5.0, 0.6, 0.6, 0.6, 0.6], 50, 0),
        ([0.3, 0.2, 0.2, 0.2, 0.2, 0.6, 0.6, 0.6, 0.6], 90, 0),
        ([0.3, 0.2, 0.2, 0.2, 0.2, 0.6, 0.6, 0.6, 0.4], None, 0),
        ([PRIOR] * 4, None, 0),
        # float16 has losses that are not finite, of skipped steps.
        ([0.3, math.nan, 0.2, math.inf, 0.2, 0.2], None, 0),
        ([math.nan, *[PRIOR] * 5], 60, 0),
    ],
)
def test_loss_of_a_constant_answer(values, step, warmup_steps, resume_at):
    options = {"resume_at": resume_at, "warmup_steps": warmup_steps}
    assert stopped_at(losses(values), **options) == step


@pytest.mark.parametrize("resume_at", [None, 20, 30])
@pytest.mark.parametrize(
    ("numbers", "step", "options"),
    [
        ([1, 1], 20, {}),
        ([2, 1, 3, 1, 1, 1], 50, {}),
        ([1, 2, 1, 2, 1], None, {}),
        ([1] * 5, 10, {"num_evaluations": 1}),
        ([1] * 5, 40, {"num_evaluations": 4}),
        ([1] * 5, 40, {"warmup_steps": 20}),
    ],
)
def test_one_label_for_all_rows(numbers, step, options, resume_at):
    entries = evaluations(val_num_predicted_labels=numbers)
    assert stopped_at(entries, resume_at=resume_at, **options) == step


def test_one_answer_is_a_collapse_while_the_loss_is_stuck():
    one_label = evaluations(val_num_predicted_labels=[1, 1])
    assert stopped_at([one_label[0], *losses([PRIOR, PRIOR]), one_label[1]]) == 20
    # A model that learns still answers by the commonest label for a while.
    learning = losses([0.9 * PRIOR, 0.8 * PRIOR])
    assert stopped_at([one_label[0], *learning, one_label[1]]) is None


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
        "by step 30 the loss was 0.500 on average in the later half of 20 steps, that "
        "of a constant answer is 0.500, learning rate 0.25. Train in another run folder"
    ) in error.reason
    assert str(error) == error.reason
    error = collapse(evaluations(val_num_predicted_labels=[1, 1]))
    assert "all held-out rows got one answer at 2 evaluations" in error.reason


def test_a_training_stops_at_the_same_step_when_resumed(tmp_path):
    for num_steps in (8, 24):
        options = {"steps_per_evaluation": 5, "steps_per_log": 2}
        trainer, model = small_run.make_trainer(tmp_path, num_steps, **options)
        guards = {"collapse": CollapseGuard(math.log(2), 3, num_steps=9)}
        dataset = small_run.make_dataset
        if num_steps == 8:
            trainer.fit(model, dataset, guards=guards)
    # The labels are noise.
    with pytest.raises(TrainingCollapsedError, match="step 14 the loss was 0.[67]"):
        trainer.fit(model, dataset, guards=guards)
