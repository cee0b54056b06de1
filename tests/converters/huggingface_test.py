"""Hugging Face folders: names, config, older files and errors."""

import json
import re
import shutil

import h5py
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from albert_keras.converters import huggingface, load_checkpoint, save_checkpoint
from albert_keras.models import AlbertBackbone, AlbertPretrainer, AlbertTextClassifier
from tests.converters.damaged_files import check_damage_is_one_clear_error
from tests.converters.google_files import SIZES
from tests.helpers import foreign_tensors, make_config, max_difference, randomize

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
    return foreign_tensors(classifier, huggingface, HEAD)


def test_kernels_are_transposed_and_tables_are_not(classifier, tensors, tmp_path):
    layer = "albert.encoder.albert_layer_groups.1.albert_layers.2"
    assert tensors[f"{layer}.ffn.weight"].shape == (40, 28)
    assert tensors["albert.embeddings.word_embeddings.weight"].shape == (61, 9)
    write_folder(tmp_path, tensors)
    model = load_checkpoint(tmp_path, head=HEAD)
    assert max_difference(model.get_weights(), classifier.get_weights()) == 0.0


def test_head_has_the_dropout_of_the_config(tensors, tmp_path):
    write_folder(tmp_path, tensors)
    assert load_checkpoint(tmp_path, head=HEAD).dropout == 0.3
    without = {key: JSON[key] for key in JSON if key != "classifier_dropout_prob"}
    write_folder(tmp_path, tensors, without)
    assert load_checkpoint(tmp_path, head=HEAD).dropout == 0.1


def test_half_precision_files_become_float32(classifier, tensors, tmp_path):
    write_folder(tmp_path, {n: v.astype("float16") for n, v in tensors.items()})
    model = load_checkpoint(tmp_path, head=HEAD)
    assert {variable.dtype for variable in model.weights} >= {"float32"}
    assert max_difference(model.get_weights(), classifier.get_weights()) < 1e-2


def test_copies_of_older_versions_are_ignored(tmp_path):
    pretrainer = randomize(AlbertPretrainer(AlbertBackbone(**CONFIG.to_dict())))
    tensors = foreign_tensors(pretrainer, huggingface, "pretraining")
    tensors["albert.embeddings.position_ids"] = np.arange(19)[np.newaxis]
    table = tensors["albert.embeddings.word_embeddings.weight"]
    tensors["predictions.decoder.weight"] = table
    tensors["predictions.decoder.bias"] = tensors["predictions.bias"]
    write_folder(tmp_path, tensors)
    model = load_checkpoint(tmp_path)
    assert max_difference(model.get_weights(), pretrainer.get_weights()) == 0.0


def test_written_files_can_be_read_as_the_umask_says(classifier, tmp_path):
    save_checkpoint(classifier.backbone, tmp_path / "out", "huggingface")
    (tmp_path / "plain").touch()
    modes = {
        path.stat().st_mode for path in [*tmp_path.glob("out/*"), tmp_path / "plain"]
    }
    assert len(modes) == 1


def test_all_problems_are_listed(tensors, tmp_path):
    layer = "albert.encoder.albert_layer_groups.0.albert_layers.1"
    del tensors[f"{layer}.attention.key.bias"], tensors["albert.pooler.weight"]
    tensors[f"{layer}.ffn.weight"] = tensors[f"{layer}.ffn.weight"].T
    tensors["albert.encoder.adapter.weight"] = np.zeros((5, 3), "float32")
    del tensors["classifier.bias"]
    write_folder(tmp_path, tensors)
    with pytest.raises(ValueError, match="Received 6 problems") as error:
        load_checkpoint(tmp_path, head=HEAD)
    name = "group_0_inner_1/group_0_inner_1"
    assert str(error.value).split("\n  ")[1:] == [
        f"missing: {name}_attention/key/bias",
        "missing: pooler/kernel",
        "missing: logits/bias",
        "unexpected: albert.encoder.adapter.weight (5, 3)",
        f"mis-shaped: {layer}.ffn.weight gives (40, 28), "
        f"{name}_feed_forward/intermediate/kernel expects (28, 40)",
        # Without a bias the number of classes is not known.
        "mis-shaped: classifier.weight gives (28, 11), logits/kernel expects (28, 2)",
    ]


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
        ({"layer_norm_eps": 0}, "layer_norm_epsilon=0"),
        ({"layer_norm_eps": True}, "layer_norm_epsilon=True"),
        ({"layer_norm_eps": None}, "null for layer_norm_eps"),
        ({"hidden_dropout_prob": "0.1"}, "dropout='0.1'"),
        ({"hidden_size": "28"}, "hidden_dim='28'"),
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


def test_folder_without_pair_head_loads_without_one(fixtures, tmp_path):
    # As published: transformers' own ALBERT folders hold no `sop_classifier`.
    folder = fixtures / "hf_shared" / "pretraining"
    tensors = load_file(folder / "model.safetensors")
    kept = {k: v for k, v in tensors.items() if not k.startswith("sop_classifier")}
    save_file(kept, tmp_path / "model.safetensors")
    shutil.copy(folder / "config.json", tmp_path)
    with pytest.warns(UserWarning, match="has no sentence-pair head"):
        model = load_checkpoint(tmp_path)
    assert list(model.output) == ["mlm_logits"]
    whole = load_checkpoint(folder)
    inputs = np.load(folder / "forward.npz")
    features = {
        "token_ids": inputs["input_ids"],
        "segment_ids": inputs["token_type_ids"],
        "padding_mask": inputs["attention_mask"],
        "mask_positions": np.tile(np.arange(5), (4, 1)),
    }
    difference = np.abs(model(features)["mlm_logits"] - whole(features)["mlm_logits"])
    assert difference.max() == 0.0


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


def test_names_of_a_bare_model_and_of_old_norms(classifier, tensors, tmp_path):
    bare = {
        name.removeprefix("albert.").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in tensors.items()
        if name.startswith("albert.")
    }
    write_folder(tmp_path, bare, {**JSON, "architectures": ["AlbertModel"]})
    backbone = load_checkpoint(tmp_path, head=None)
    weights = classifier.backbone.get_weights()
    assert max_difference(backbone.get_weights(), weights) == 0.0


def test_tied_tensors_that_differ_are_refused(tmp_path):
    pretrainer = randomize(AlbertPretrainer(AlbertBackbone(**CONFIG.to_dict())))
    tensors = foreign_tensors(pretrainer, huggingface, "pretraining")
    tensors["predictions.decoder.bias"] = tensors["predictions.bias"] + 1.0
    write_folder(tmp_path, tensors)
    with pytest.raises(ValueError, match="decoder.bias differs from predictions.bias"):
        load_checkpoint(tmp_path)


def test_tagger_without_a_head_dropout_has_that_of_the_layers(fixtures, tmp_path):
    folder = fixtures / "hf_shared" / "token_classification"
    shutil.copy(folder / "model.safetensors", tmp_path)
    stated = json.loads((folder / "config.json").read_text())
    stated |= {"classifier_dropout_prob": None, "hidden_dropout_prob": 0.3}
    (tmp_path / "config.json").write_text(json.dumps(stated))
    assert load_checkpoint(tmp_path, head="token_classification").dropout == 0.3


def test_scalar_instead_of_a_vector_is_refused(tensors, tmp_path):
    write_folder(tmp_path, tensors)
    scalar = {"classifier.bias": np.array(1.0, "float32")}
    tensors = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    save_file({**tensors, **scalar}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"mis-shaped: classifier.bias gives \(\)"):
        load_checkpoint(tmp_path, head=HEAD)


# Of a damaged key of `config.json`, a flipped bit makes an unknown one.
@pytest.mark.filterwarnings("ignore:.*has keys that ALBERT does not read")
@pytest.mark.parametrize("file_name", ["config.json", "model.safetensors"])
def test_damage(file_name, fixtures, tmp_path):
    def load(folder):
        checkpoint = huggingface.find_checkpoint(folder)
        if file_name == "config.json":
            return huggingface.read_config(checkpoint)
        tensors = huggingface.read_tensors(checkpoint)
        return [tensors.read(name) for name in tensors.shapes]

    folder = fixtures / "hf_shared" / "pretraining"
    check_damage_is_one_clear_error(load, folder, file_name, tmp_path)
