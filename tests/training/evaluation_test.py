"""Scores of a function are logged and choose the best step."""

import keras
import numpy as np

from albert_keras.training.evaluation import Evaluation
from tests.training import small_run


def test_numbers_go_into_the_logs_and_nothing_else():
    results = {
        "f1": 0.5,
        "num_rows": 7,
        "loss": np.float32(0.25),
        "num_ties": np.int64(3),
        "is_good": True,
        "report": {"x": 1},
        "name": "a",
    }
    callback = Evaluation(lambda: results)
    callback.set_model(keras.Sequential())
    logs = {"loss": 2.0}
    callback.on_epoch_end(0, logs)
    expected = {"loss": 2.0, "val_f1": 0.5, "val_num_rows": 7, "val_loss": 0.25}
    assert logs == {**expected, "val_num_ties": 3}


def test_scores_of_a_training_are_logged_and_choose_the_best(tmp_path):
    trainer, model = small_run.make_trainer(
        tmp_path, num_steps=10, best_metric="val_score"
    )
    seen = []

    def evaluate():
        seen.append(model.get_weights()[0])
        # The second is the best.
        return {"score": [0.5, 0.75, 0.625][len(seen) - 1], "tied": 2}

    logs = trainer.fit(model, small_run.make_dataset, evaluate)
    assert (logs["val_score"], logs["val_tied"]) == (0.625, 2)
    outcome = small_run.outcome(tmp_path, model, logs)
    evaluations = [line for line in outcome["lines"] if "val_score" in line]
    assert [(x["step"], x["val_score"], x["val_tied"]) for x in evaluations] == [
        (4, 0.5, 2.0),
        (8, 0.75, 2.0),
        (10, 0.625, 2.0),
    ]
    # Each saw the weights of its step.
    assert (trainer.restore_best(model).step, len(seen)) == (8, 3)
    assert np.array_equal(model.get_weights()[0], seen[1])
    assert not np.array_equal(seen[1], seen[2])
