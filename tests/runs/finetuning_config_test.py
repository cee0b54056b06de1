"""Configurations of fine-tuning runs."""

import pytest

from albert_keras.runs.finetuning_config import FinetuningRunConfig, RowOptions


def test_only_given_columns():
    options = RowOptions(text_column="review", label_column="stars", skip_broken=True)
    given = {"text": "review", "label": "stars", "skips_broken": True}
    assert options.given_columns() == given


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "sst-3"}, "task='sst-3'"),
        ({"freeze": "head"}, "freeze='head'"),
        ({"restarts": -1}, "restarts=-1"),
        ({"weight_decay": -0.1}, "weight_decay=-0.1"),
        ({"weight_decay": float("nan")}, "`weight_decay`.*weight_decay=nan"),
        ({"classifier_dropout": 1}, "less than 1. Received: classifier_dropout=1"),
        ({"restarts": -1}, "0 to 100. Received: restarts=-1"),
        ({"seeds": 0}, "seeds=0"),
    ],
)
def test_values_that_make_no_run(options, message):
    with pytest.raises(ValueError, match=message):
        FinetuningRunConfig(
            **{"task": "sst-2", "checkpoint": "a", "run": "b", **options}
        )
