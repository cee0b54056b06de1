"""Google's checkpoints and SavedModels: names, config and errors."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.config import PRESETS
from albert_keras.converters import find_checkpoint, load_checkpoint, save_checkpoint
from albert_keras.converters.google import GoogleCheckpoint
from albert_keras.converters.tensorflow_file import write_tensorflow
from albert_keras.models import (
    AlbertBackbone,
    AlbertJointQuestionAnswerer,
    AlbertPretrainer,
)
from tests.converters.google_files import CONFIG, JSON, write_checkpoint
from tests.helpers import make_config, max_difference, randomize


@pytest.mark.parametrize("as_folder", [True, False])
def test_optimizer_slots_and_step_are_ignored(as_folder, pretrainer, tensors, tmp_path):
    slots = {f"{n}/{s}": v for n, v in tensors.items() for s in ("adam_m", "adam_v")}
    step = {"global_step": np.int64(125000)}
    write_checkpoint(tmp_path / "model.ckpt-best", {**tensors, **slots, **step})
    path = tmp_path if as_folder else tmp_path / "model.ckpt-best"
    model = load_checkpoint(path)
    assert max_difference(model.get_weights(), pretrainer.get_weights()) == 0.0
    rates = {"dropout": 0.1, "attention_dropout": 0.2}
    assert model.backbone.albert_config == make_config(
        num_groups=2, num_inner_repetitions=3, **rates
    )


def test_a_pair_head_of_three_classes_is_kept(tmp_path):
    backbone = AlbertBackbone(**make_config().to_dict())
    pretrainer = randomize(AlbertPretrainer(backbone, num_pair_classes=3))
    with pytest.warns(UserWarning, match="Received: a head of 3 classes"):
        save_checkpoint(pretrainer, tmp_path / "google", "google")
    model = load_checkpoint(tmp_path / "google")
    assert max_difference(model.get_weights(), pretrainer.get_weights()) == 0.0


def test_folder_with_several_checkpoints_is_refused(tensors, tmp_path):
    for step in (10, 20):
        write_checkpoint(tmp_path / f"model.ckpt-{step}", tensors)
    with pytest.raises(ValueError, match="several.*model.ckpt-10, model.ckpt-20"):
        load_checkpoint(tmp_path)
    assert load_checkpoint(tmp_path / "model.ckpt-20").built


def test_relu_of_the_chinese_models(tensors, tmp_path):
    write_checkpoint(tmp_path / "model.ckpt", tensors, {**JSON, "hidden_act": "relu"})
    assert load_checkpoint(tmp_path).backbone.activation == "relu"


@pytest.fixture(scope="module")
def answerer():
    backbone = AlbertBackbone(**CONFIG.to_dict())
    return randomize(AlbertJointQuestionAnswerer(backbone))


# What the original's graph for SQuAD 2.0 has beside the encoder.
JOINT_HEAD = {
    **{"start_logits/dense/kernel": (28, 1), "start_logits/dense/bias": (1,)},
    **{"end_logits/dense_0/kernel": (56, 28), "end_logits/dense_0/bias": (28,)},
    **{"end_logits/LayerNorm/gamma": (28,), "end_logits/LayerNorm/beta": (28,)},
    **{"end_logits/dense_1/kernel": (28, 1), "end_logits/dense_1/bias": (1,)},
    **{"answer_class/dense_0/kernel": (56, 28), "answer_class/dense_0/bias": (28,)},
    "answer_class/dense_1/kernel": (28, 1),
}


def test_squad_2_head_is_found_or_ignored(answerer, tmp_path):
    tensors = GoogleCheckpoint.tensors_of(answerer, "joint_question_answering")
    shapes = {n: v.shape for n, v in tensors.items() if not n.startswith("bert/")}
    assert shapes == JOINT_HEAD
    slots = {f"{name}/adam_v": tensors[name] for name in JOINT_HEAD}
    write_checkpoint(tmp_path / "model.ckpt", {**tensors, **slots})
    assert find_checkpoint(tmp_path).head == "joint_question_answering"
    for head, expected in (("joint_question_answering", answerer), (None, None)):
        expected = expected or answerer.backbone
        model = load_checkpoint(tmp_path, head=head)
        assert type(model) is type(expected)
        assert max_difference(model.get_weights(), expected.get_weights()) == 0.0


# === SavedModels with Google's variables, in the formats of TensorFlow 1 and 2 ===


class Module(tf.Module):
    """What TF-Hub's TensorFlow 2 format is: variables by their places, with names."""

    def __init__(self, tensors):
        super().__init__()
        self.variables_list = [
            tf.Variable(value, name=name) for name, value in tensors.items()
        ]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def __call__(self, x):
        return x


def write_tensorflow_1(folder, tensors, config=JSON):
    """Writes a module in TF-Hub's older format: variables by name."""
    (folder / "variables").mkdir(parents=True)
    write_tensorflow(folder / "variables" / "variables", tensors)
    (folder / "saved_model.pb").write_bytes(b"\x08\x01")
    if config:
        (folder / "assets").mkdir()
        (folder / "assets" / "albert_config.json").write_text(json.dumps(config))


def test_tensorflow_2_format(pretrainer, tensors, tmp_path):
    tf.saved_model.save(Module(tensors), str(tmp_path))
    model = load_checkpoint(tmp_path, CONFIG)
    assert max_difference(model.get_weights(), pretrainer.get_weights()) == 0.0


@pytest.mark.parametrize("prefix", ["", "module/"])
def test_tensorflow_1_format(prefix, pretrainer, tensors, tmp_path):
    tensors = {f"{prefix}{name}": value for name, value in tensors.items()}
    write_tensorflow_1(tmp_path, {**tensors, "global_step": np.int64(7)})
    model = load_checkpoint(tmp_path)
    assert max_difference(model.get_weights(), pretrainer.get_weights()) == 0.0


def random_tensors(shared, name):
    layout = shared / "data" / "checkpoint_layouts" / f"{name}.json"
    random = np.random.default_rng(3)
    return {
        name: random.normal(0.0, 0.02, shape).astype(dtype)
        for name, (shape, dtype) in json.loads(layout.read_text("utf-8")).items()
    }


def test_module_of_tfhub_has_no_pair_head(shared, tmp_path):
    tensors = random_tensors(shared, "tfhub_albert_base_tf2")
    tf.saved_model.save(Module(tensors), str(tmp_path))
    with pytest.warns(UserWarning, match="no sentence-pair head"):
        model = load_checkpoint(tmp_path, PRESETS["albert_base_v2"])
    assert list(model.output) == ["mlm_logits"]
    table = model.backbone.token_embedding.embeddings
    assert (table.numpy() == tensors["bert/embeddings/word_embeddings"]).all()


@pytest.mark.filterwarnings("ignore:.*no sentence-pair head")
def test_encoder_of_model_garden_gives_its_outputs(fixtures, tmp_path):
    folder = fixtures / "model_garden"
    (tmp_path / "saved_model.pb").touch()
    (tmp_path / "variables").mkdir()
    for file in folder.glob("bert_model.ckpt.*"):
        name = file.name.replace("bert_model.ckpt", "variables")
        shutil.copyfile(file, tmp_path / "variables" / name)
    shutil.copyfile(folder / "albert_config.json", tmp_path / "albert_config.json")
    arrays = np.load(folder / "forward.npz")
    inputs = {
        "token_ids": arrays["input_ids"],
        "segment_ids": arrays["segment_ids"],
        "padding_mask": arrays["input_mask"],
        "mask_positions": arrays["masked_lm_positions"],
    }
    model = load_checkpoint(tmp_path)
    mlm_logits = model(inputs)["mlm_logits"]
    assert max_difference(mlm_logits, arrays["out_mlm_logits"]) < 1e-5
    del inputs["mask_positions"]
    for name, value in model.backbone(inputs).items():
        assert max_difference(value, arrays[f"out_{name}"]) < 1e-5
    # The checkpoint itself, by object too, has the same.
    again = load_checkpoint(folder)
    assert max_difference(again.get_weights(), model.get_weights()) == 0.0
    (tmp_path / "albert_config.json").unlink()
    with pytest.raises(FileNotFoundError, match="sizes with these shapes: none"):
        load_checkpoint(tmp_path)


def test_without_a_config_fitting_presets_are_named(shared, tmp_path):
    write_tensorflow_1(
        tmp_path, random_tensors(shared, "chinanews_albert_savedmodel"), config=None
    )
    with pytest.raises(FileNotFoundError, match=r"these shapes: albert_base_zh\."):
        load_checkpoint(tmp_path)
