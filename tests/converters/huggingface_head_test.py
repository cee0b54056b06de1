"""A head in Hugging Face's config: what is read, and damage."""

import pytest

from albert_keras.converters.huggingface_head import MULTI_LABEL, read_options

HEAD = "sequence_classification"


@pytest.mark.parametrize(
    ("stated", "labels"),
    [
        ({}, None),
        ({"id2label": None}, None),
        ({"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}, None),
        ({"id2label": {"1": "good", "0": "bad"}}, ["bad", "good"]),
        # The model refuses what names not every class.
        ({"id2label": {"0": "bad", "2": "good"}}, ["bad", None]),
    ],
)
def test_labels(stated, labels):
    assert read_options(stated, HEAD) == {"dropout": 0.1, "labels": labels}


def test_only_a_text_classifier_is_for_several_labels():
    stated = {"problem_type": MULTI_LABEL, "classifier_dropout_prob": 0.3}
    options = {"dropout": 0.3, "labels": None}
    assert read_options(stated, HEAD) == {**options, "activation": "sigmoid"}
    assert read_options(stated, "token_classification") == options
    assert read_options(stated, "question_answering") == {}


def test_dropout_of_tokens_where_it_is_null():
    stated = {"classifier_dropout_prob": None, "hidden_dropout_prob": 0.2}
    assert read_options(stated, "token_classification")["dropout"] == 0.2


def test_labels_that_are_no_dict():
    with pytest.raises(ValueError, match=r"must be a dict. Received: id2label=\['a'\]"):
        read_options({"id2label": ["a"]}, HEAD)
