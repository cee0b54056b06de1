"""Rules of early exit, on logits made by hand."""

import json

import numpy as np
import pytest

from albert_keras.compression import ExitRule, simulate_exits

# Confidence of class 1 at each of five depths, of three rows.
CONFIDENCES = np.array(
    [
        [0.6, 0.7, 0.95, 0.4, 0.99],
        [0.96, 0.97, 0.2, 0.97, 0.98],
        [0.3, 0.55, 0.3, 0.6, 0.2],
    ]
)
LOGITS = np.log(np.stack([1 - CONFIDENCES, CONFIDENCES], axis=-1))
NUMBERS = np.array([[1.0, 1.5, 1.55, 1.56, 3.0], [2.0, 2.05, 2.09, 4.0, 4.0]])[
    ..., None
]


@pytest.mark.parametrize(
    ("rule", "logits", "exits"),
    [
        (ExitRule("fixed_depth", min_depth=3), LOGITS, [3, 3, 3]),
        (ExitRule("patience"), LOGITS, [2, 2, 5]),
        (ExitRule("patience", patience=2), LOGITS, [3, 5, 5]),
        (ExitRule("patience", min_depth=3), LOGITS, [3, 5, 5]),
        (ExitRule("confidence", threshold=0.9), LOGITS, [3, 1, 5]),
        (ExitRule("confidence", threshold=0.9, min_depth=2), LOGITS, [3, 2, 5]),
        (ExitRule("patient_confidence", threshold=0.9, patience=2), LOGITS, [5, 2, 5]),
        (ExitRule("difference", threshold=0.06), NUMBERS, [3, 2]),
        (ExitRule("difference", threshold=0.06, patience=2), NUMBERS, [4, 3]),
    ],
)
def test_rows_leave_where_the_rule_says(rule, logits, exits):
    rule.check(5, logits.shape[-1])
    assert simulate_exits(rule, logits).tolist() == exits
    assert ExitRule.from_dict(json.loads(json.dumps(rule.to_dict()))) == rule


def test_temperatures_change_confidence_at_their_depth():
    rule = ExitRule("confidence", threshold=0.9, temperatures=(9.0, 1.0, 9.0, 1.0, 1.0))
    assert simulate_exits(rule, LOGITS).tolist() == [5, 2, 5]


@pytest.mark.parametrize(
    ("rule", "num_classes", "message"),
    [
        (ExitRule("entropy"), 2, "must be one of .*fixed_depth.*entropy"),
        (ExitRule("patience"), 1, "patience must .*of classification.*num_classes=1"),
        (ExitRule("difference", threshold=0.1), 2, "of regression.*num_classes=2"),
        (ExitRule("patience", patience=6), 2, "1 to 5.* Received: .*patience=6"),
        (ExitRule("patience", min_depth=True), 2, "`min_depth` an int.*min_depth=True"),
        (ExitRule("confidence"), 2, "confidence must .*a positive.*threshold=None"),
        (ExitRule("patience", threshold=0.5), 2, "patience must .*no `threshold`.*0.5"),
        (ExitRule("confidence", threshold=0.5, patience=2), 2, "no `patience`"),
        (ExitRule("confidence", threshold=0.5, temperatures=(1.0,)), 2, "none, or 5"),
    ],
)
def test_rules_that_do_not_fit_the_model_are_refused(rule, num_classes, message):
    with pytest.raises(ValueError, match=message):
        rule.check(5, num_classes)
