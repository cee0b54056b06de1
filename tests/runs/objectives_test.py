"""Runs of replaced-token detection: what they keep, and resuming them."""

import dataclasses
import shutil

import numpy as np
import pytest

import albert_keras as ak
from albert_keras.runs import PretrainingRun


@pytest.fixture(scope="module")
def config(base_config, tmp_path_factory):
    return dataclasses.replace(
        base_config,
        run=tmp_path_factory.mktemp("detection") / "run",
        objective="rtd",
        generator_width=10,
        validation_split=0,
        steps_per_checkpoint=1,
    )


@pytest.fixture(scope="module")
def results(config):
    return PretrainingRun(config).fit()


@pytest.mark.slow
def test_an_ordinary_backbone_with_a_vocabulary_is_kept(config, results, fail):
    backbone = ak.AlbertBackbone.from_preset(config.run)
    assert backbone.count_params() == results["parameters"]
    assert ak.load_tokenizer(config.run).vocabulary_size() == backbone.vocabulary_size
    assert "must have a head to predict with" in fail("predict", config.run, "a [MASK]")
    line = fail("evaluate", config.run, "--data", config.run / "tokens")
    assert "keeps a backbone, which has nothing to be measured by" in line


def variables(run):
    with np.load(run / "checkpoints" / "step-00000002.npz") as file:
        return {name: file[name] for name in file.files if name != "content"}


@pytest.mark.slow
def test_a_resumed_run_ends_like_an_uninterrupted_one(config, results, tmp_path):
    run = tmp_path / "resumed"
    shutil.copytree(config.run, run)
    (run / "checkpoints" / "step-00000002.npz").unlink()
    PretrainingRun(dataclasses.replace(config, run=run)).fit()
    expected, received = variables(config.run), variables(run)
    assert expected.keys() == received.keys()
    for name, value in expected.items():
        assert np.array_equal(received[name], value), name


def test_options_of_the_detection_need_its_objective(base_config):
    with pytest.raises(ValueError, match="objective=mlm. Received: generator_layers."):
        dataclasses.replace(base_config, generator_layers=3)
