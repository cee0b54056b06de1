"""Google's TensorFlow 1 checkpoints: names, config and errors."""

import numpy as np
import pytest

from albert_keras.converters import Checkpoint, google, load_checkpoint, save_checkpoint
from albert_keras.models import (
    AlbertBackbone,
    AlbertJointQuestionAnswerer,
    AlbertPretrainer,
    AlbertTextClassifier,
)
from tests.converters.google_files import CONFIG, JSON, write_checkpoint
from tests.helpers import foreign_tensors, make_config, max_difference, randomize


def test_names_are_those_of_the_published_files(tensors):
    inner = "bert/encoder/transformer/group_1/inner_group_2"
    assert tensors[f"{inner}/attention_1/self/query/kernel"].shape == (28, 28)
    assert tensors[f"{inner}/ffn_1/intermediate/output/dense/kernel"].shape == (40, 28)
    assert tensors[f"{inner}/LayerNorm_1/beta"].shape == (28,)
    assert tensors["cls/seq_relationship/output_weights"].shape == (2, 28)
    # Two groups of three layers of 16 variables, and 16 outside of them.
    assert len(tensors) == 2 * 3 * 16 + 16


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


def test_current_folder_is_a_path_too(pretrainer, tensors, tmp_path, monkeypatch):
    write_checkpoint(tmp_path / "model.ckpt", tensors)
    monkeypatch.chdir(tmp_path)
    model = load_checkpoint(".")
    assert max_difference(model.get_weights(), pretrainer.get_weights()) == 0.0


def test_classifier_takes_its_number_of_classes_from_the_head(tmp_path):
    backbone = AlbertBackbone(**CONFIG.to_dict())
    classifier = randomize(AlbertTextClassifier(backbone, num_classes=11))
    head = "sequence_classification"
    tensors = foreign_tensors(classifier, google, head)
    assert tensors["output_weights"].shape == (11, 28)
    write_checkpoint(tmp_path / "model.ckpt-3000", tensors)
    model = load_checkpoint(tmp_path, head=head)
    assert model.num_classes == 11
    assert max_difference(model.get_weights(), classifier.get_weights()) == 0.0


def test_equal_widths_need_no_projection(tmp_path):
    config = make_config(embedding_dim=28)
    pretrainer = randomize(AlbertPretrainer(AlbertBackbone(**config.to_dict())))
    tensors = foreign_tensors(pretrainer, google, "pretraining")
    assert not [name for name in tensors if "embedding_hidden_mapping_in" in name]
    write_checkpoint(tmp_path / "model.ckpt", tensors, config=None)
    model = load_checkpoint(tmp_path, config=config)
    assert max_difference(model.get_weights(), pretrainer.get_weights()) == 0.0


def test_a_pair_head_of_three_classes_is_kept_with_a_warning(tmp_path):
    backbone = AlbertBackbone(**make_config().to_dict())
    pretrainer = randomize(AlbertPretrainer(backbone, num_pair_classes=3))
    with pytest.warns(UserWarning, match="2 classes only.*Received: 3 classes"):
        save_checkpoint(pretrainer, tmp_path / "google", "google")
    model = load_checkpoint(tmp_path / "google")
    assert max_difference(model.get_weights(), pretrainer.get_weights()) == 0.0


def test_all_problems_are_listed(tensors, tmp_path):
    del tensors["bert/pooler/dense/bias"], tensors["cls/predictions/output_bias"]
    tensors["bert/embeddings/position_embeddings"] = np.zeros((23, 9), "float32")
    tensors["bert/encoder/transformer/LayerNorm_9/beta"] = np.zeros(28, "float32")
    write_checkpoint(tmp_path / "model.ckpt", tensors)
    with pytest.raises(ValueError, match="Received 4 problems") as error:
        load_checkpoint(tmp_path)
    assert str(error.value).split("\n  ")[1:] == [
        "missing: pooler/bias",
        "missing: mlm/output_bias",
        "unexpected: bert/encoder/transformer/LayerNorm_9/beta (28,)",
        "mis-shaped: bert/embeddings/position_embeddings gives (23, 9), "
        "embedding/position_embedding/embeddings expects (19, 9)",
    ]


def test_folder_with_several_checkpoints_is_refused(tensors, tmp_path):
    for step in (10, 20):
        write_checkpoint(tmp_path / f"model.ckpt-{step}", tensors)
    with pytest.raises(ValueError, match="several.*model.ckpt-10, model.ckpt-20"):
        load_checkpoint(tmp_path)
    assert load_checkpoint(tmp_path / "model.ckpt-20").built


def test_missing_config_is_refused(tensors, tmp_path):
    write_checkpoint(tmp_path / "model.ckpt", tensors, config=None)
    with pytest.raises(FileNotFoundError, match="albert_config.json.*pass `config`"):
        load_checkpoint(tmp_path)
    assert load_checkpoint(tmp_path, config=CONFIG).built


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"use_rotary": True}, "not understood. Received: use_rotary"),
        ({"hidden_act": "gelu_new"}, "one of gelu, relu. Received: .*'gelu_new'"),
        ({"num_attention_heads": 5}, "hidden_dim=28, num_heads=5"),
    ],
)
def test_unknown_config_is_refused(change, message, tensors, tmp_path):
    write_checkpoint(tmp_path / "model.ckpt", tensors, config={**JSON, **change})
    with pytest.raises(ValueError, match=message):
        load_checkpoint(tmp_path)


def test_relu_of_the_chinese_models(tensors, tmp_path):
    write_checkpoint(tmp_path / "model.ckpt", tensors, {**JSON, "hidden_act": "relu"})
    assert load_checkpoint(tmp_path).backbone.activation == "relu"


def test_truncated_weights_are_one_clear_error(fixtures, tmp_path):
    for file in (fixtures / "google_tf1_shared").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (data,) = tmp_path.glob("*.data-*")
    data.write_bytes(data.read_bytes()[:500])
    with pytest.raises(ValueError, match="larger than its file. Received: "):
        load_checkpoint(tmp_path)


@pytest.fixture(scope="module")
def answerer():
    backbone = AlbertBackbone(**CONFIG.to_dict())
    return randomize(AlbertJointQuestionAnswerer(backbone))


# What the original's graph for SQuAD 2.0 has beside the encoder.
JOINT_HEAD = {
    "start_logits/dense/kernel": (28, 1),
    "start_logits/dense/bias": (1,),
    "end_logits/dense_0/kernel": (56, 28),
    "end_logits/dense_0/bias": (28,),
    "end_logits/LayerNorm/gamma": (28,),
    "end_logits/LayerNorm/beta": (28,),
    "end_logits/dense_1/kernel": (28, 1),
    "end_logits/dense_1/bias": (1,),
    "answer_class/dense_0/kernel": (56, 28),
    "answer_class/dense_0/bias": (28,),
    "answer_class/dense_1/kernel": (28, 1),
}


def test_squad_2_head_is_found_or_ignored(answerer, tmp_path):
    tensors = foreign_tensors(answerer, google, "joint_question_answering")
    shapes = {n: v.shape for n, v in tensors.items() if not n.startswith("bert/")}
    assert shapes == JOINT_HEAD
    slots = {f"{name}/adam_v": tensors[name] for name in JOINT_HEAD}
    write_checkpoint(tmp_path / "model.ckpt", {**tensors, **slots})
    assert Checkpoint.find(tmp_path).head == "joint_question_answering"
    for head, expected in (("joint_question_answering", answerer), (None, None)):
        expected = expected or answerer.backbone
        model = load_checkpoint(tmp_path, head=head)
        assert type(model) is type(expected)
        assert max_difference(model.get_weights(), expected.get_weights()) == 0.0


def test_problems_of_the_squad_2_head_are_listed(answerer, tmp_path):
    tensors = foreign_tensors(answerer, google, "joint_question_answering")
    del tensors["end_logits/LayerNorm/beta"], tensors["bert/pooler/dense/bias"]
    tensors["start_logits/dense/bias"] = np.zeros(2, "float32")
    tensors["answer_class/dense_1/bias"] = np.zeros(1, "float32")
    write_checkpoint(tmp_path / "model.ckpt", tensors)
    with pytest.raises(ValueError, match="Received 3 problems") as error:
        load_checkpoint(tmp_path, head="joint_question_answering")
    # Not the pooler, which the head does not read.
    assert str(error.value).split("\n  ")[1:] == [
        "missing: end_logits/layer_norm/beta",
        "unexpected: answer_class/dense_1/bias (1,)",
        "mis-shaped: start_logits/dense/bias gives (2,), "
        "start_logits/dense/bias expects (1,)",
    ]


def test_unknown_integers_are_listed(tensors, tmp_path):
    tensors["bert/quantized"] = np.zeros((3, 5), "int8")
    write_checkpoint(tmp_path / "model.ckpt", tensors)
    with pytest.raises(ValueError, match=r"unexpected: bert/quantized \(3, 5\)"):
        load_checkpoint(tmp_path)
