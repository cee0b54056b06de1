"""Saving in every format: exact round trips, and loading by the other libraries."""

import json

import keras
import keras_hub
import numpy as np
import pytest
import safetensors.numpy

from albert_keras.converters import CHECKPOINT_FORMATS, load_checkpoint, save_checkpoint
from albert_keras.converters.heads import head_of
from albert_keras.converters.huggingface import MULTI_LABEL, HuggingFaceFolder
from albert_keras.models import HEADS, AlbertBackbone
from albert_keras.tokenizers import (
    AlbertTokenizer,
    load_tokenizer,
    train_sentence_piece,
)
from tests.converters.loading_test import make_model
from tests.helpers import make_config, make_inputs, max_difference, randomize
from tools.verify_conversion import compare_outputs

TEXT = [
    "the quick brown fox jumps over the lazy dog",
    "Pack my box with five dozen liquor jugs",
    "How vexingly quick daft zebras jump, and how lazily",
    "a quick dog, a lazy fox, five boxes and a dozen jugs of liquor",
    "the owner of the dog was over there with the others, and there they waited",
    "another day another mother gathered feathers and leather for the weather",
]
# Heads of each format.
KNOWN_HEADS = {
    "keras": [None, *HEADS],
    "google": [
        *(None, "pretraining", "sequence_classification"),
        *("question_answering", "joint_question_answering", "multiple_choice"),
    ],
    "huggingface": [None, *HuggingFaceFolder.known_heads()],
    "keras_hub": [None, "pretraining", "sequence_classification"],
}


@pytest.fixture(scope="module")
def tokenizer():
    return AlbertTokenizer(train_sentence_piece(TEXT, 61))


def weights_of(model):
    weights = {v.path: keras.ops.convert_to_numpy(v) for v in model.weights}
    if head_of(model) in ("question_answering", "token_classification"):
        # transformers has no pooler under these heads.
        weights = {k: v for k, v in weights.items() if not k.startswith("pooler")}
    return weights


@pytest.mark.parametrize(
    ("format", "head"), [(f, h) for f, heads in KNOWN_HEADS.items() for h in heads]
)
@pytest.mark.filterwarnings("ignore:.*has no sentence-pair head")
@pytest.mark.filterwarnings("ignore:keras-hub's masked-word head")
def test_saved_models_load_bit_by_bit(format, head, tmp_path):
    overrides = {"num_layers": 2, "num_groups": 2, "num_inner_repetitions": 2}
    if format != "keras_hub":
        overrides |= {"attention_dropout": 0.2, "initializer_range": 0.03}
    model = make_model(head, **overrides, dropout=0.1, max_sequence_length=17)
    save_checkpoint(model, tmp_path / "out", format)
    restored = load_checkpoint(tmp_path / "out", head=head)
    assert type(restored) is type(model)
    if format == "keras":
        assert restored.get_config() == model.get_config()
    expected, received = weights_of(model), weights_of(restored)
    if format == "keras_hub":
        expected = {k: v for k, v in expected.items() if not k.startswith("sop/")}
    assert max_difference(received, expected) == 0.0
    config, again = (
        getattr(m, "backbone", m).albert_config.to_dict() for m in (model, restored)
    )
    if format == "keras_hub":
        config["attention_dropout"] = 0.1
    assert again == config


@pytest.mark.parametrize("projects", [False, True])
@pytest.mark.parametrize("format", ["keras", "huggingface", "keras_hub", "google"])
def test_equal_widths_may_have_a_projection(format, projects, tmp_path):
    model = make_model(
        None, num_layers=1, embedding_dim=28, always_project_embeddings=projects
    )
    if format == "google" and projects:
        with pytest.raises(ValueError, match="always_project_embeddings=False"):
            save_checkpoint(model, tmp_path / "out", format)
        return
    save_checkpoint(model, tmp_path / "out", format)
    restored = load_checkpoint(tmp_path / "out", head=None)
    # The models of transformers and keras-hub always project.
    adds = format in ("huggingface", "keras_hub")
    assert restored.albert_config.always_project_embeddings == (projects or adds)
    inputs = make_inputs()
    assert max_difference(restored(inputs), model(inputs)) < 1e-6


@pytest.mark.parametrize("head", [head for head in KNOWN_HEADS["huggingface"] if head])
def test_huggingface_files_come_back_the_same(fixtures, head, tmp_path):
    folder = fixtures / "hf_groups_gelu" / head
    save_checkpoint(load_checkpoint(folder, head=head), tmp_path / "o", "huggingface")
    original = safetensors.numpy.load_file(folder / "model.safetensors")
    written = safetensors.numpy.load_file(tmp_path / "o" / "model.safetensors")
    assert written.keys() == original.keys()
    for key, value in original.items():
        assert (written[key] == value).all(), key
    stated = json.loads((tmp_path / "o" / "config.json").read_text())
    config = json.loads((folder / "config.json").read_text())
    assert stated == {key: config[key] for key in stated}


def load_in_transformers(folder):
    """Checks the names of the tensors, and returns the class."""
    transformers = pytest.importorskip("transformers")
    (architecture,) = json.loads((folder / "config.json").read_text())["architectures"]
    _, report = getattr(transformers, architecture).from_pretrained(
        folder, output_loading_info=True
    )
    assert not any(report[kind] for kind in ("missing_keys", "mismatched_keys"))
    # The pooler of a masked-word model is kept for what it may be fine-tuned to.
    assert all("pooler" in key for key in report["unexpected_keys"])
    return architecture


@pytest.mark.parametrize("head", KNOWN_HEADS["huggingface"])
def test_transformers_loads_every_head(head, tmp_path):
    model = make_model(head, num_groups=3, activation="gelu")
    save_checkpoint(model, tmp_path / "out", "huggingface")
    load_in_transformers(tmp_path / "out")
    comparison = compare_outputs(model, tmp_path / "out")
    assert comparison.library == "transformers"
    assert comparison.differences.keys() == (
        model.output.keys() if isinstance(model.output, dict) else {"logits"}
    )
    assert max(comparison.differences.values()) < 1e-5


NAMES = ["sad", "so-so", "göod"]


@pytest.mark.parametrize(
    ("head", "options", "problem_type"),
    [
        ("sequence_classification", {}, None),
        ("sequence_classification", {"activation": "sigmoid"}, MULTI_LABEL),
        ("token_classification", {}, None),
    ],
)
def test_labels_come_back(head, options, problem_type, tmp_path):
    backbone = make_model(None, num_layers=1)
    model = HEADS[head].model(backbone, 3, labels=NAMES, **options)
    save_checkpoint(model, tmp_path / "out", "huggingface")
    stated = json.loads((tmp_path / "out" / "config.json").read_text())
    assert stated["label2id"] == {"sad": 0, "so-so": 1, "göod": 2}
    assert stated.get("problem_type") == problem_type
    again = load_checkpoint(tmp_path / "out", head=head)
    assert again.labels == tuple(NAMES)
    assert again.get_config().get("activation") == model.get_config().get("activation")
    pytest.importorskip("transformers")
    assert compare_outputs(again, tmp_path / "out").differences["logits"] < 1e-5


def test_a_classifier_of_one_number_is_a_regressor_in_transformers(tmp_path):
    model = HEADS["sequence_classification"].model(make_model(None), 1)
    save_checkpoint(model, tmp_path / "out", "huggingface")
    stated = json.loads((tmp_path / "out" / "config.json").read_text())
    assert stated["problem_type"] == "regression"


def test_values_that_a_format_leaves_out_are_a_warning(tmp_path):
    backbone, options = make_model(None, initializer_range=0.014), {"dropout": 0.4}
    model = HEADS["sequence_classification"].model(backbone, 3, labels=NAMES, **options)
    with pytest.warns(UserWarning, match="labels=sad, so-so, göod, dropout=0.4[.]"):
        save_checkpoint(model, tmp_path / "google", "google")
    with pytest.warns(UserWarning, match="so-so, göod, initializer_range=0.014[.]"):
        save_checkpoint(model, tmp_path / "hub", "keras_hub")


def test_pretrainer_without_pairs_is_transformers_masked_lm(tmp_path):
    backbone = AlbertBackbone(**make_config().to_dict())
    model = randomize(HEADS["pretraining"].model(backbone, num_pair_classes=0))
    save_checkpoint(model, tmp_path / "out", "huggingface")
    assert load_in_transformers(tmp_path / "out") == "AlbertForMaskedLM"


@pytest.mark.parametrize("format", [f for f in CHECKPOINT_FORMATS if f != "keras_hub"])
def test_vocabulary_is_saved_too(format, tokenizer, tmp_path):
    model = make_model("text_embedding" if format == "sentence-transformers" else None)
    save_checkpoint(model, tmp_path / "out", format, tokenizer=tokenizer)
    again = load_tokenizer(tmp_path / "out")
    assert again(TEXT) == tokenizer(TEXT)


# keras-hub does not close the vocabulary it writes.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_keras_hub_loads_backbone_and_masked_words(tokenizer, tmp_path):
    model = make_model("pretraining", num_groups=3)
    with pytest.warns(UserWarning, match="left out: sop/kernel, sop/bias"):
        save_checkpoint(model, tmp_path / "o", "keras_hub", tokenizer=tokenizer)
    backbone = keras_hub.models.AlbertBackbone.from_preset(str(tmp_path / "o"))
    inputs = make_inputs()
    assert max_difference(backbone(inputs), model.backbone(inputs)) < 1e-5
    task = keras_hub.models.AlbertMaskedLM.from_preset(str(tmp_path / "o"))
    comparison = compare_outputs(model, tmp_path / "o")
    assert comparison.differences["mlm_logits"] < 1e-5
    # The warning names this difference, measured on other rows.
    ((name, size),) = comparison.known.items()
    assert "epsilon of 1e-05" in name
    inputs["mask_positions"] = np.tile([[1, 4, 0]], (5, 1))
    difference = max_difference(task(inputs), model(inputs)["mlm_logits"])
    assert 0 < difference < 2 * size
    text = TEXT[0]
    assert list(task.preprocessor.tokenizer(text)) == tokenizer(text)


@pytest.mark.parametrize(
    ("format", "head", "overrides", "message"),
    [
        ("google", "token_classification", {}, "know the model's head.*token_class"),
        ("huggingface", "joint_question_answering", {}, "model's head.*: joint_ques"),
        ("keras_hub", "joint_question_answering", {}, "model's head.*: joint_ques"),
        ("google", None, {"activation": "gelu"}, "activation of gelu_tanh, relu"),
        ("google", None, {"layer_norm_epsilon": 1e-5}, "layer_norm_epsilon=1e-12"),
        ("huggingface", None, {"sharing": "none"}, "sharing='all'.*num_groups"),
        ("keras_hub", None, {"activation": "relu"}, "activation of gelu_tanh"),
        ("keras_hub", None, {"attention_dropout": 0.3}, "one rate of dropout"),
        ("keras_hub", None, {"num_groups": 2}, "must be divisible by `num_groups`"),
    ],
)
def test_models_that_a_format_cannot_store_are_refused(
    format, head, overrides, message, tmp_path
):
    with pytest.raises(ValueError, match=message):
        save_checkpoint(make_model(head, **overrides), tmp_path / "out", format)
    assert list(tmp_path.iterdir()) == []


def test_bad_arguments_are_refused(tokenizer, tmp_path):
    model = make_model(None)
    with pytest.raises(ValueError, match="keras_hub, google.*Received: format='onnx'"):
        save_checkpoint(model, tmp_path / "out", "onnx")
    with pytest.raises(TypeError, match="AlbertBackbone, AlbertPre.*Received: <Dense"):
        save_checkpoint(keras.layers.Dense(3), tmp_path / "out")
    smaller = make_model(None, vocabulary_size=53)
    with pytest.raises(ValueError, match="tokenizer of 61 tokens, a model of 53"):
        save_checkpoint(smaller, tmp_path / "out", tokenizer=tokenizer)
    assert not any(tmp_path.iterdir())


def test_only_a_model_of_the_format_is_replaced(tmp_path):
    model, folder = make_model(None), tmp_path / "out"
    for _ in range(2):
        save_checkpoint(model, folder, "huggingface")
    with pytest.raises(ValueError, match="='keras_hub'; it holds huggingface[.]"):
        save_checkpoint(model, folder, "keras_hub")
    (folder / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match="huggingface, and other files: thesis.txt"):
        save_checkpoint(model, folder, "huggingface")
    (folder / "thesis.txt").unlink()
    (folder / "config.json").write_text('{"model_type": "gpt2"}')
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="it holds no model"):
        save_checkpoint(model, folder, "huggingface")
