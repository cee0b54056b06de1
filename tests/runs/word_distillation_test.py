"""Students of pretrained teachers: their first weights, and what is kept."""

import numpy as np
import pytest

import albert_keras as ak
from albert_keras.runs import DistillationRun, DistillationRunConfig


def student_of(base, run, **options):
    return DistillationRunConfig(
        teacher=str(base),
        data=str(base / "tokens"),
        run=run,
        num_steps=2,
        batch_size=3,
        steps_per_checkpoint=1,
        **options,
    )


@pytest.fixture(scope="module")
def config(base, tmp_path_factory):
    run = tmp_path_factory.mktemp("student") / "run"
    return student_of(base, run, learning_rate=1e-3)


@pytest.mark.slow
def test_a_student_starts_with_all_weights(base, tmp_path):
    run = DistillationRun(student_of(base, tmp_path / "run", num_layers=2)).run
    run.prepare()
    teacher = {v.path: np.array(v) for v in ak.load_checkpoint(base).weights}
    for variable in run.model.student.weights:
        assert np.array_equal(variable, teacher[variable.path]), variable.path
    assert run.model.student.backbone.num_layers == 2


@pytest.mark.slow
def test_an_ordinary_run_of_the_student_is_kept(config):
    results = DistillationRun(config).fit()
    model = ak.load_checkpoint(config.run)
    assert model.backbone.count_params() == results["parameters"]
    assert model.num_pair_classes == 0
    assert 4.0 < results["mlm_loss"] < 8.0
    assert ak.load_tokenizer(config.run).vocabulary_size() == 500


def test_another_vocabulary_is_refused(base, tmp_path, fail):
    words = ["distill", "--teacher", base, "--checkpoint", "albert_nano_en"]
    line = fail(*words, "--data", base / "tokens", "--run", tmp_path / "run")
    assert "must read the same token ids" in line
