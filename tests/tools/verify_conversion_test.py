"""Comparison of models with the library that reads their files."""

import json

import pytest

from albert_keras.converters import save_checkpoint
from tests.converters.saving_test import make_model
from tests.helpers import randomize
from tools.verify_conversion import compare_outputs, main, random_inputs

OUTPUTS = {
    None: {"sequence_output", "pooled_output"},
    "pretraining": {"mlm_logits", "sop_logits"},
    "question_answering": {"start_logits", "end_logits"},
    "joint_question_answering": {
        *("start_logits", "end_logits", "answerability_logits"),
    },
}


# saving_test.py compares every head with transformers.
@pytest.mark.parametrize("head", [None, "pretraining", "multiple_choice"])
def test_transformers_agrees(head, tmp_path, capfd):
    transformers = pytest.importorskip("transformers")
    model = make_model(head, num_groups=3)
    save_checkpoint(model, tmp_path / "out", "huggingface")
    comparison = compare_outputs(model, tmp_path / "out")
    assert comparison.library == "transformers"
    assert comparison.differences.keys() == OUTPUTS.get(head, {"logits"})
    assert 0 <= max(comparison.differences.values()) < 1e-5
    assert "Loading" not in capfd.readouterr().err
    assert transformers.utils.logging.is_progress_bar_enabled()


@pytest.mark.parametrize("head", ["pretraining", "sequence_classification"])
@pytest.mark.filterwarnings("ignore:keras-hub's masked-word head")
def test_keras_hub_agrees(head, tmp_path):
    model = make_model(head, num_groups=3)
    save_checkpoint(model, tmp_path / "out", "keras_hub")
    comparison = compare_outputs(model, tmp_path / "out")
    assert comparison.library == "keras_hub"
    assert bool(comparison.known) == (head == "pretraining")
    assert 0 <= max(comparison.differences.values()) < 1e-5


@pytest.mark.parametrize("head", ["pretraining", "joint_question_answering"])
def test_other_formats_are_loaded_again(head, tmp_path):
    model = make_model(head)
    save_checkpoint(model, tmp_path / "out", "google")
    comparison = compare_outputs(model, tmp_path / "out")
    assert comparison.library == "albert_keras"
    assert comparison.differences == dict.fromkeys(OUTPUTS[head], 0.0)


def test_another_model_differs(tmp_path):
    pytest.importorskip("transformers")
    model = make_model("question_answering")
    save_checkpoint(model, tmp_path / "out", "huggingface")
    other = randomize(make_model("question_answering", dropout=0.1), seed=41)
    comparison = compare_outputs(other, tmp_path / "out")
    assert min(comparison.differences.values()) > 1e-2


def test_inputs_depend_on_the_seed_and_have_several_lengths():
    model = make_model(None)
    first, same, other = (random_inputs(model, seed) for seed in (1, 1, 2))
    assert (first["token_ids"] == same["token_ids"]).all()
    assert (first["token_ids"] != other["token_ids"]).any()
    assert len({*first["padding_mask"].sum(-1)}) > 1


@pytest.mark.filterwarnings("ignore:Google's files cannot store the dropout")
def test_command(fixtures, tmp_path, capsys):
    pytest.importorskip("transformers")
    original = fixtures / "hf_shared" / "sequence_classification"
    assert main([str(original)]) == 0
    received = json.loads(capsys.readouterr().out)
    assert received["library"] == "transformers"
    assert received["differences"]["logits"] < 1e-5
