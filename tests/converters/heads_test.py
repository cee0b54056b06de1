"""Names of the heads in other libraries' files."""

import keras
import pytest

from albert_keras.converters import CONVERTERS
from albert_keras.converters.heads import FOREIGN_HEADS, head_of, head_rows, known_heads
from albert_keras.models import HEADS
from tests.converters.loading_test import FINETUNED, make_model


@pytest.mark.parametrize("head", HEADS)
def test_every_variable_of_a_head_has_its_row(head):
    model = make_model(head)
    in_backbone = {variable.path for variable in model.backbone.weights}
    paths = {variable.path for variable in model.weights} - in_backbone
    assert HEADS[head].class_bias in (None, *paths)
    for source in CONVERTERS.values():
        targets = {row.target for row in head_rows(source, head)}
        # keras-hub has no sentence-pair head.
        assert targets in (set(), paths, paths - {"sop/kernel", "sop/bias"})


def test_sources_know_these_heads():
    # Heads of this package alone.
    assert HEADS.keys() - FOREIGN_HEADS.keys() == {"early_exit"}
    unknown = {
        name: FOREIGN_HEADS.keys() - set(known_heads(source))
        for name, source in CONVERTERS.items()
    }
    embedder = {"text_embedding"}
    assert unknown.pop("sentence-transformers") == FOREIGN_HEADS.keys() - embedder
    assert unknown.pop("huggingface") == {"joint_question_answering"} | embedder
    assert FOREIGN_HEADS.keys() - unknown.pop("keras_hub") == {
        *("pretraining", "sequence_classification")
    }
    assert list(unknown.values()) == [{"token_classification"} | embedder] * 3


@pytest.mark.parametrize("head", FINETUNED)
def test_head_of_a_model(head):
    model = make_model(head)
    assert head_of(model) == head
    assert head_of(model.backbone) is None


def test_model_of_no_head_is_refused():
    with pytest.raises(TypeError, match="one of AlbertBackbone.*Received: <Dense"):
        head_of(keras.layers.Dense(3))
