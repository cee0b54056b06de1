"""Run folders: `run.json`, and what may change in a resumed run."""

import json
import re
import shutil

import pytest

from albert_keras.runs.finetuning_config import FinetuningRunConfig
from albert_keras.runs.folder import (
    CHANGEABLE,
    MOVABLE,
    RunFolder,
)
from albert_keras.runs.pretraining_config import PretrainingRunConfig


def pretraining(**options):
    return PretrainingRunConfig(
        **{"run": "base", "tokenizer": "30k.model", "data": "tokens", **options}
    )


def finetuning(**options):
    common = {"run": "sst2", "task": "sst-2", "checkpoint": "base", "data": "SST-2"}
    return FinetuningRunConfig(**{**common, **options})


@pytest.fixture
def begun(tmp_path):
    """A pretraining run with a checkpoint of step 5."""
    folder = RunFolder(tmp_path / "run")
    folder.write(pretraining(batch_size=8), data="tokens")
    (folder.path / "checkpoints").mkdir()
    (folder.path / "checkpoints" / "step-00000005.npz").touch()
    return folder


def test_a_description_has_version_kind_config_and_facts(begun):
    content = json.loads((begun.path / "run.json").read_text())
    assert content == begun.read()
    assert (content["version"], content["kind"]) == (2, "pretraining")
    assert content["data"] == "tokens"
    assert content["config"]["batch_size"] == 8
    assert "run" not in content["config"]


def test_changeable_options_are_options():
    fields = {
        *PretrainingRunConfig.__dataclass_fields__,
        *FinetuningRunConfig.__dataclass_fields__,
    }
    assert fields > CHANGEABLE | MOVABLE


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        ({}, None),
        ({"num_steps": 9, "strategy": "mirrored", "workers": 3}, None),
        ({"validation_data": "held_out"}, None),
        ({"batch_size": 9}, "batch_size=9 (was 8)"),
        ({"learning_rate": 0.25}, "learning_rate=0.25 (was None)"),
        ({"data_options": {"masking": "token"}}, "masking='token' (was None)"),
    ],
)
def test_resuming_with_other_options(begun, options, difference):
    config = pretraining(**{"batch_size": 8, **options})
    if difference is None:
        begun.check_resumable(config)
        return
    with pytest.raises(ValueError, match=re.escape(difference)):
        begun.check_resumable(config)


def test_a_run_is_not_cut_short(begun):
    begun.check_steps(pretraining(num_steps=9))
    with pytest.raises(ValueError, match="num_steps=4 for"):
        begun.check_steps(pretraining(num_steps=4))


def test_training_data_may_be_moved_where_their_content_is_known(begun):
    with pytest.raises(ValueError, match=r"data='moved' \(was 'tokens'\)"):
        begun.check_resumable(pretraining(batch_size=8, data="moved"))
    begun.write(pretraining(batch_size=8), training_files=[["a.tokens", "1f"]])
    begun.check_resumable(pretraining(batch_size=8, data="moved"))


def test_another_kind_of_run(begun):
    with pytest.raises(ValueError, match=r"kind='finetuning' \(was 'pretraining'\)"):
        begun.check_resumable(finetuning())


def test_options_that_only_one_version_knows_strand_no_run(begun):
    content = begun.read()
    del content["config"]["precision"]
    content["config"]["invented_later"] = 5
    (begun.path / "run.json").write_text(json.dumps(content))
    begun.check_resumable(pretraining(batch_size=8))
    # A run that kept nothing may begin with any options.
    shutil.rmtree(begun.path / "checkpoints")
    begun.check_resumable(pretraining(batch_size=9))


@pytest.mark.parametrize(
    "content",
    ['{"arguments": 5}', "{}", '{"version": 3, "kind": "x", "config": {}}', "[]"],
)
def test_files_that_describe_no_run(tmp_path, content):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(ValueError, match="must") as caught:
        RunFolder(tmp_path).read()
    assert "run.json" in str(caught.value)


def test_folders_that_hold_no_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="A run folder holds `run.json`"):
        RunFolder(tmp_path).read()
