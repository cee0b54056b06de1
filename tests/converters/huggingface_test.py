"""Hugging Face folders: config, heads, older files and errors."""

import json
import re

import h5py
import numpy as np
import pytest
from safetensors.numpy import save_file

from albert_keras.converters import load_checkpoint, save_checkpoint
from albert_keras.converters.huggingface import (
    MULTI_LABEL,
    HuggingFaceFolder,
    read_options,
)
from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from tests.converters.google_files import SIZES
from tests.helpers import make_config, max_difference, randomize

CONFIG = make_config(num_groups=2, num_inner_repetitions=3)
HEAD = "sequence_classification"
JSON = {
    **SIZES,
    "hidden_act": "gelu_new",
    "layer_norm_eps": 1e-12,
    "classifier_dropout_prob": 0.3,
    "model_type": "albert",
    "id2label": {"0": "LABEL_0"},
}


def write_folder(folder, tensors, config=JSON):
    tensors = {n: np.ascontiguousarray(v) for n, v in tensors.items()}
    save_file(tensors, folder / "model.safetensors")
    if config:
        (folder / "config.json").write_text(json.dumps(config))


@pytest.fixture(scope="module")
def classifier():
    backbone = AlbertBackbone(**CONFIG.to_dict())
    return randomize(AlbertTextClassifier(backbone, num_classes=11))


@pytest.fixture
def tensors(classifier):
    return HuggingFaceFolder.tensors_of(classifier, HEAD)


def test_head_has_the_dropout_of_the_config(tensors, tmp_path):
    write_folder(tmp_path, tensors)
    assert load_checkpoint(tmp_path, head=HEAD).dropout == 0.3
    without = {key: JSON[key] for key in JSON if key != "classifier_dropout_prob"}
    write_folder(tmp_path, tensors, without)
    assert load_checkpoint(tmp_path, head=HEAD).dropout == 0.1


def test_written_files_can_be_read_as_the_umask_says(classifier, tmp_path):
    save_checkpoint(classifier.backbone, tmp_path / "out", "huggingface")
    (tmp_path / "plain").touch()
    modes = {
        path.stat().st_mode for path in [*tmp_path.glob("out/*"), tmp_path / "plain"]
    }
    assert len(modes) == 1


def test_missing_config_is_refused_unless_one_is_passed(classifier, tensors, tmp_path):
    write_folder(tmp_path, tensors, config=None)
    with pytest.raises(FileNotFoundError, match="no .*config.json.*pass `config`"):
        load_checkpoint(tmp_path, head=HEAD)
    model = load_checkpoint(tmp_path, config=CONFIG, head=HEAD)
    assert max_difference(model.get_weights(), classifier.get_weights()) == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_act": "mish"}, "relu, silu, swish. Received: .*'mish'"),
        ({"num_hidden_layers": 18, "num_hidden_groups": 14}, "layer 9 belongs to"),
        ({"layer_norm_eps": None}, "layer_norm_epsilon=None. It is"),
        ({"hidden_act": ["gelu"]}, r"hidden_act=\['gelu'\]"),
        ({"architectures": 5}, "`architectures` must be a list"),
        ({"classifier_dropout_prob": 7.0}, "classifier_dropout_prob=7.0"),
        ({"classifier_dropout_prob": None}, "classifier_dropout_prob=None"),
    ],
)
def test_unknown_config_is_refused(change, message, tensors, tmp_path):
    write_folder(tmp_path, tensors, config={**JSON, **change})
    with pytest.raises(ValueError, match=message):
        load_checkpoint(tmp_path, head=HEAD)


def test_groups_that_transformers_applies_in_another_way_are_not_written(tmp_path):
    model = AlbertBackbone(**make_config(num_layers=18, num_groups=14).to_dict())
    with pytest.raises(ValueError, match="layer 9 belongs to group 7, .* applies 6"):
        save_checkpoint(model, tmp_path / "out", "huggingface")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("gelu", "gelu"),
        ("gelu_new", "gelu_tanh"),
        ("gelu_pytorch_tanh", "gelu_tanh"),
        ("relu", "relu"),
        ("silu", "silu"),
        ("swish", "silu"),
        # What transformers leaves out is its own default.
        (None, "gelu_tanh"),
    ],
)
def test_activation_names(theirs, ours, tensors, tmp_path):
    config = {**JSON, "hidden_act": theirs}
    if theirs is None:
        del config["hidden_act"]
    write_folder(tmp_path, tensors, config)
    assert load_checkpoint(tmp_path, head=None).activation == ours


def as_pytorch(folder, tensors):
    torch = pytest.importorskip("torch")
    state = {name: torch.tensor(value) for name, value in tensors.items()}
    torch.save(state, folder / "pytorch_model.bin")


def as_tensorflow(folder, tensors):
    """Writes what `TFAlbertForSequenceClassification.save_pretrained` did."""
    leaves = {"LayerNorm": "gamma", "full_layer_layer_norm": "gamma"}
    leaves |= dict.fromkeys(
        ["token_type_embeddings", "position_embeddings"], "embeddings"
    )
    leaves["word_embeddings"] = "weight"
    with h5py.File(folder / "tf_model.h5", "w") as content:
        for name, value in tensors.items():
            *scopes, leaf = name.split(".")
            if leaf == "weight":
                leaf = leaves.get(scopes[-1], "kernel")
                value = value.T if leaf == "kernel" else value
            elif leaves.get(scopes[-1]) == "gamma":
                leaf = "beta"
            path = "/".join(scopes)
            for kind in ("albert_layer_groups", "albert_layers"):
                path = re.sub(rf"{kind}/(\d)", rf"{kind}_._\1", path)
            model = "tf_albert_for_sequence_classification"
            content[f"{scopes[0]}/{model}/{path}/{leaf}:0"] = value
        # A layer lists what it was given, too.
        table = tensors["albert.embeddings.word_embeddings.weight"]
        path = "albert/embeddings/word_embeddings/weight:0"
        content[f"classifier/tf_albert_for_sequence_classification/{path}"] = table


@pytest.mark.parametrize("write", [as_pytorch, as_tensorflow])
def test_older_files_of_weights(write, classifier, tensors, tmp_path):
    write(tmp_path, tensors)
    (tmp_path / "config.json").write_text(json.dumps(JSON))
    model = load_checkpoint(tmp_path, head=HEAD)
    assert max_difference(model.get_weights(), classifier.get_weights()) == 0.0


# === A head in Hugging Face's config ===

TAGS = "token_classification"
DROPOUTS = {"classifier_dropout_prob": None, "hidden_dropout_prob": 0.2}


@pytest.mark.parametrize(
    ("head", "stated", "expected"),
    [
        (HEAD, {}, {"dropout": 0.1, "labels": None}),
        (HEAD, {"id2label": None}, {"labels": None}),
        (HEAD, {"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}, {"labels": None}),
        (HEAD, {"id2label": {"1": "good", "0": "bad"}}, {"labels": ["bad", "good"]}),
        # The model refuses what names not every class.
        (HEAD, {"id2label": {"0": "bad", "2": "good"}}, {"labels": ["bad", None]}),
        (HEAD, {"problem_type": MULTI_LABEL}, {"activation": "sigmoid"}),
        (TAGS, {"problem_type": MULTI_LABEL}, {"activation": None}),
        (TAGS, DROPOUTS, {"dropout": 0.2}),
        ("question_answering", DROPOUTS, {"dropout": None, "labels": None}),
    ],
)
def test_options_of_a_head(head, stated, expected):
    options = read_options(stated, head)
    assert {name: options.get(name) for name in expected} == expected


def test_labels_that_are_no_dict():
    with pytest.raises(ValueError, match=r"must be a dict. Received: id2label=\['a'\]"):
        read_options({"id2label": ["a"]}, HEAD)
