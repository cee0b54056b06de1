"""Every model gives one result, however it is called, saved or loaded."""

import functools

import pytest

from albert_keras.models import (
    AlbertBackbone,
    AlbertEarlyExitClassifier,
    AlbertJointQuestionAnswerer,
    AlbertMaskedLM,
    AlbertMultipleChoice,
    AlbertPretrainer,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
    AlbertTextEmbedder,
    AlbertTokenClassifier,
)
from tests.helpers import make_config, run_model_test
from tests.models.small_models import ANSWERS, CHOICES, INPUTS, WORDS, make_model

TOKENS = {"sequence_output": (5, 13, 28), "pooled_output": (5, 28)}
SPANS = {"start_logits": (5, 13), "end_logits": (5, 13)}
LOGITS, PAIRS = {"mlm_logits": (5, 6, 61)}, {"sop_logits": (5, 2)}
EXITS = {"exit_rule": {"name": "patience", "patience": 3}, "fields": {"num_layers": 2}}
# Class, options, inputs, and the shapes of the outputs.
HEADS = {
    "classes": (AlbertTextClassifier, {"num_classes": 11}, INPUTS, (5, 11)),
    "numbers": (AlbertTextClassifier, {"num_classes": 1}, INPUTS, (5, 1)),
    "exits": (AlbertEarlyExitClassifier, {"num_classes": 7, **EXITS}, INPUTS, (5, 7)),
    "tags": (AlbertTokenClassifier, {"num_classes": 7}, INPUTS, (5, 13, 7)),
    "answers": (AlbertQuestionAnswerer, {}, INPUTS, SPANS),
    "answers, joint": (
        *(AlbertJointQuestionAnswerer, {}, ANSWERS),
        {**SPANS, "answerability_logits": (5, 1)},
    ),
    "choices": (AlbertMultipleChoice, {}, CHOICES, (3, 4)),
    "words": (AlbertMaskedLM, {}, WORDS, (5, 6, 61)),
    "words and pairs": (AlbertPretrainer, {}, WORDS, LOGITS | PAIRS),
    "words alone": (AlbertPretrainer, {"num_pair_classes": 0}, WORDS, LOGITS),
    "vectors, cut": (
        *(AlbertTextEmbedder, {"dense_dim": 17, "dimensions": 11}, INPUTS),
        (5, 11),
    ),
    "vectors": (AlbertTextEmbedder, {"pooling_mode": "max"}, INPUTS, (5, 28)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HEADS)
def test_one_result_however_used(name, tmp_path):
    kind, options, inputs, shapes = HEADS[name]
    make = functools.partial(make_model, kind, **options)
    run_model_test(make, inputs, shapes, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"num_groups": 2, "sharing": "attention", "activation": "gelu"},
        {"num_layers": 2, "sharing": "none", "embedding_dim": 28, "activation": "relu"},
    ],
    ids=["albert", "groups", "bert"],
)
def test_one_result_of_a_backbone(fields, tmp_path):
    make = functools.partial(AlbertBackbone, **make_config(**fields).to_dict())
    run_model_test(make, INPUTS, TOKENS, tmp_path)
