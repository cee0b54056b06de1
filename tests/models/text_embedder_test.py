"""The embedder: pooling, dense layer, dimensions, prompts, keras-hub's interface."""

import functools

import keras_hub
import numpy as np
import pytest

import albert_keras as ak
from albert_keras.models import AlbertBackbone, AlbertTextEmbedder
from tests.helpers import max_difference, randomize
from tests.models.small_models import INPUTS, make_model

make_embedder = functools.partial(make_model, AlbertTextEmbedder)
TEXTS = ["a charming film", "", "The soup was warm."]


@pytest.fixture(scope="module")
def shipped():
    prompts = {"query": "query: ", "none": ""}
    backbone = AlbertBackbone.from_preset("albert_nano_en")
    preprocessor = ak.AlbertTextEmbedderPreprocessor.from_preset("albert_nano_en")
    return AlbertTextEmbedder(backbone, preprocessor, dense_dim=7, prompts=prompts)


@pytest.mark.parametrize("mode", ["mean", "cls", "max"])
@pytest.mark.parametrize("normalize", [True, False])
def test_tokens_are_pooled_projected_cut_and_normalized(mode, normalize):
    model = make_embedder(
        pooling_mode=mode, normalize=normalize, dense_dim=17, dimensions=11
    )
    randomize(model)
    tokens = np.array(model.backbone(INPUTS)["sequence_output"])
    expected = []
    for row, mask in zip(tokens, INPUTS["padding_mask"], strict=True):
        real = row[mask == 1]
        pooled = {"mean": real.mean(axis=0), "cls": row[0], "max": real.max(axis=0)}[
            mode
        ]
        vector = np.tanh(pooled @ np.array(model.dense.kernel) + model.dense.bias)[:11]
        expected.append(vector / (np.linalg.norm(vector) if normalize else 1))
    assert max_difference(model(INPUTS), np.array(expected)) < 1e-6
    assert make_embedder(dtype="mixed_bfloat16")(INPUTS).dtype == "float32"


def test_a_model_is_cut_on_its_backbone():
    model = randomize(make_embedder(normalize=False))
    small = model.with_dimensions(5)
    assert small.backbone is model.backbone
    assert max_difference(small(INPUTS), model(INPUTS)[:, :5]) < 1e-6
    with pytest.raises(ValueError, match="from 1 to the model's 28.*dimensions=29"):
        model.with_dimensions(29)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling_mode": "last"}, "mean, cls, max.*'last'"),
        ({"dimensions": 0}, "dimensions=0"),
        ({"dense_dim": 7, "dimensions": 8}, "from 1 to the model's 7"),
        ({"default_prompt_name": "query"}, "default_prompt_name='query'"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_embedder(**options)


def test_prompts_stand_before_texts(shipped):
    encode = shipped.encode_text
    assert max_difference(encode(TEXTS), shipped.predict(TEXTS)) == 0.0
    prompted = ["query: " + text for text in TEXTS]
    assert max_difference(encode(TEXTS, "query"), encode(prompted)) == 0.0
    assert encode("a film").shape == (1, 7)
    with pytest.raises(ValueError, match="query, none.*'passage'"):
        encode(TEXTS, "passage")


def test_keras_hubs_class_finds_the_preset(shipped, tmp_path):
    shipped.save_to_preset(str(tmp_path))
    found = keras_hub.models.TextEmbedder.from_preset(str(tmp_path))
    assert type(found) is AlbertTextEmbedder
    assert found.prompts == shipped.prompts
    assert max_difference(found.encode_text(TEXTS), shipped.encode_text(TEXTS)) == 0.0
    # A backbone without a head needs no new weights.
    plain = AlbertTextEmbedder.from_preset("albert_nano_en")
    assert plain.dense is None
    assert plain.preprocessor.sequence_length == 128
