"""Arms of the paper's ablations."""

import pathlib

import pytest

from albert_keras.cli import parse
from albert_keras.cli.options import config_from
from albert_keras.runs.ablation_arms import ABLATIONS
from albert_keras.runs.ablation_config import AblationConfig
from albert_keras.runs.ablation_data import AblationData, pretraining_command
from albert_keras.runs.pretraining_config import PretrainingRunConfig

NAMES = [(name, arm) for name, ablation in ABLATIONS.items() for arm in ablation.arms]


@pytest.mark.parametrize(("name", "arm"), NAMES, ids=map("-".join, NAMES))
def test_every_arm_is_a_pretraining_run(name, arm):
    shape = ("--preset=albert_nano_en",)
    config = AblationConfig(
        name=name, text=("corpus",), output="out", pretrain_option=shape
    )
    data = AblationData("vocabulary.model", pathlib.Path("out"))
    words = pretraining_command(config, data, config.chosen_arms[arm], 500, 7, "run")
    run = config_from(parse(words), PretrainingRunConfig)
    assert run.seed == 7
    shape = run.shape()
    assert shape.max_sequence_length == 16
    growth = config.chosen_arms[arm].growth
    assert sum(share for share, _ in growth) < 1
    assert len(run.phases or [0]) == 1 + len(growth)


def test_bases_are_arms_and_the_numbers_are_the_papers():
    for ablation in ABLATIONS.values():
        assert ablation.base in ablation.arms
        assert bool(ablation.source) == bool(ablation.paper)
    assert ABLATIONS["sharing"].paper == {
        "all": 80.1,
        "attention": 81.7,
        "ffn": 80.2,
        "none": 81.6,
    }
    assert ABLATIONS["sentence-task"].paper == {"none": 79.0, "nsp": 79.2, "sop": 80.1}
    assert ABLATIONS["sentence-task"].measured["probe_sop"]["sop"] == 86.5
