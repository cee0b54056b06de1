"""Every head gives one result, however it is called, saved or loaded."""

import functools

import pytest

from tests.helpers import run_model_test
from tests.models import (
    classifier_test,
    early_exit_classifier_test,
    joint_question_answerer_test,
    masked_lm_test,
    multiple_choice_test,
    pretrainer_test,
    question_answerer_test,
    token_classifier_test,
)

SPANS = {"start_logits": (5, 13), "end_logits": (5, 13)}
WORDS, PAIRS = {"mlm_logits": (5, 6, 61)}, {"sop_logits": (5, 2)}
# Module, the options of its function, and the shapes of the outputs.
HEADS = {
    "make_classifier": (classifier_test, {}, (5, 11)),
    "make_classifier, of numbers": (classifier_test, {"num_classes": 1}, (5, 1)),
    "make_model": (
        early_exit_classifier_test,
        {"exit_rule": {"name": "patience", "patience": 3}, "fields": {"num_layers": 2}},
        (5, 7),
    ),
    "make_tagger": (token_classifier_test, {}, (5, 13, 7)),
    "make_answerer": (question_answerer_test, {}, SPANS),
    "make_answerer, joint": (
        joint_question_answerer_test,
        {},
        {**SPANS, "answerability_logits": (5, 1)},
    ),
    "make_chooser": (multiple_choice_test, {}, (3, 4)),
    "make_masked_lm": (masked_lm_test, {}, (5, 4, 61)),
    "make_pretrainer": (pretrainer_test, {}, WORDS | PAIRS),
    "make_pretrainer, of words": (pretrainer_test, {"num_pair_classes": 0}, WORDS),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HEADS)
def test_one_result_however_used(name, tmp_path):
    module, options, shapes = HEADS[name]
    make = functools.partial(getattr(module, name.partition(",")[0]), **options)
    run_model_test(make, module.INPUTS, shapes, tmp_path)
