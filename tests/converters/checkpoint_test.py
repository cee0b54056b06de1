"""Recognition of a checkpoint's source and head."""

import json

import pytest
from safetensors.numpy import load_file, save_file

from albert_keras.converters import Checkpoint
from tests.converters.loading_test import SHARED_HEADS, make_model


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("google_tf1_shared", "pretraining"),
        *[(f"hf_groups_gelu/{head}", head) for head in ("pretraining", *SHARED_HEADS)],
    ],
)
def test_head_is_found(fixtures, name, head):
    assert Checkpoint.find(fixtures / name).head == head


def test_files_of_a_backbone_have_no_head(fixtures, tmp_path):
    folder = fixtures / "hf_groups_gelu/sequence_classification"
    tensors = load_file(folder / "model.safetensors")
    for name in ("classifier.weight", "classifier.bias"):
        del tensors[name]
    save_file(tensors, tmp_path / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["AlbertModel"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert Checkpoint.find(tmp_path).head is None


def test_head_of_a_preset_is_found(tmp_path):
    make_model("question_answering").save_to_preset(str(tmp_path))
    assert Checkpoint.find(tmp_path).head == "question_answering"
    make_model("pretraining").backbone.save_to_preset(str(tmp_path / "backbone"))
    assert Checkpoint.find(tmp_path / "backbone").head is None


def test_source_is_recognized_by_the_files(fixtures):
    assert Checkpoint.find(fixtures / "google_tf1_shared").source == "google"
    assert Checkpoint.find(fixtures / "hf_shared/pretraining").source == "huggingface"
    assert Checkpoint.find("albert_nano_en").source == "keras"
