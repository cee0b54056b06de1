"""Students: their configuration, where they start, what is kept, and resuming."""

import dataclasses

import numpy as np
import pytest

import albert_keras as ak
from albert_keras.runs import (
    DistillationRun,
    DistillationRunConfig,
    FinetuningRun,
    FinetuningRunConfig,
)
from tests.helpers import max_difference


@pytest.fixture(scope="module")
def teacher(base, rows, tmp_path_factory):
    """The folder of a run with three layers, which took no step."""
    return make_teacher(base, rows, tmp_path_factory.mktemp("teacher"))


def built(run):
    run.prepare()
    run.build()
    return run


def make_teacher(base, rows, folder, **task_options):
    """Writes a run with three layers, which took no step; returns its folder."""
    config = FinetuningRunConfig(
        run=str(folder / "run"),
        task="text-classification",
        train=str(rows),
        validation=str(rows),
        checkpoint=str(base),
        model_options={"num_layers": 3},
        num_steps=2,
        batch_size=8,
        sequence_length=19,
        pad_to_maximum=True,
        task_options=task_options,
    )
    run = built(FinetuningRun(config))
    run.folder.write(config, recipe=dataclasses.asdict(run.recipe), labels=["a", "b"])
    run.folder.save_model(run.model, run.task.tokenizer)
    return config.run


@pytest.fixture
def config(teacher, tmp_path):
    return DistillationRunConfig(run=tmp_path / "run", teacher=teacher)


def load_classifier(run):
    return ak.load_checkpoint(run, head="sequence_classification")


@pytest.mark.slow
def test_a_student_starts_with_all_weights_of_its_teacher(config, teacher):
    run = built(DistillationRun(config))
    weights = load_classifier(teacher).get_weights()
    assert max_difference(run.model.get_weights(), weights) == 0.0
    assert run.model.backbone.num_layers == 1
    config = dataclasses.replace(config, num_layers=2, sharing="none")
    run = built(DistillationRun(config))
    first, second = run.model.backbone.encoders
    assert first is not second
    assert max_difference(first.get_weights(), second.get_weights()) == 0.0


@pytest.mark.slow
def test_a_teacher_with_exits_teaches_at_full_depth(base, rows, tmp_path):
    teacher = make_teacher(base, rows, tmp_path, early_exit="joint")
    config = DistillationRunConfig(run=str(tmp_path / "student"), teacher=teacher)
    run = built(DistillationRun(config))
    with_exits = ak.load_run(teacher).model
    assert type(with_exits) is ak.AlbertEarlyExitClassifier
    assert type(run.model) is ak.AlbertTextClassifier
    heads = [model.output_dense.get_weights() for model in (run.model, with_exits)]
    assert max_difference(*heads) == 0.0


@pytest.mark.slow
def test_an_ordinary_run_of_the_student_is_kept(config, teacher, rows, call):
    results = call("distill", "--teacher", teacher, "--run", config.run)
    for path, expected in [(config.run, results), (teacher, results["teacher"])]:
        loss = ak.runs.evaluate_run(path, rows)["loss"]
        # Some processors round differently in another graph of the same model.
        assert loss == pytest.approx(expected["loss"], rel=1e-6)
    assert load_classifier(config.run).backbone.num_layers == 1
    assert ak.load_run(config.run).predict(["text 3"])[0]["label"] in "ab"


@pytest.mark.slow
def test_a_student_with_another_vocabulary_is_refused(config, fail, tmp_path):
    words = ["distill", "--teacher", config.teacher, "--run", tmp_path / "run"]
    line = fail(*words, "--checkpoint", "albert_nano_en")
    assert "must read the same token ids" in line


def test_a_pretrained_teacher_needs_data(base, fail, tmp_path):
    line = fail("distill", "--teacher", base, "--run", tmp_path / "run")
    assert "needs `data`, a folder of `prepare-data`. Received: none" in line
    words = ["--data", "data", "--run", tmp_path / "run", "--num-epochs", 2]
    line = fail("distill", "--teacher", base, *words)
    assert "no effect with a pretrained teacher. Received: num_epochs=" in line


# === Configurations of students, filled in by those of their teachers ===


TAUGHT = {
    **{"task": "sst-2", "train": "a.tsv", "validation": "b.tsv", "num_epochs": 5},
    **{"learning_rate": 1e-3, "encoding": "cp1252", "seed": 7},
    "task_options": {"long_texts": "tail"},
}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {},
            {
                **{"task": "sst-2", "task_options": {"long_texts": "tail"}},
                **{"encoding": "cp1252", "train": "a.tsv", "validation": "b.tsv"},
                **{"num_epochs": 5, "learning_rate": 1e-3, "seed": 0},
                **{"checkpoint": "teacher", "num_layers": 3},
            },
        ),
        (
            {
                "num_steps": 9,
                "data": "folder",
                "checkpoint": "a",
                "learning_rate": 2e-3,
            },
            {"num_epochs": None, "train": None, "validation": None, "num_layers": None},
        ),
    ],
)
def test_what_is_not_given_is_the_teachers(options, expected):
    config = DistillationRunConfig(run="student", teacher="teacher", **options)
    config = config.of_task({"config": TAUGHT}, num_layers=7).to_dict()
    assert config == {**config, **options, **expected}


# === Students of pretrained teachers: their first weights, and what is kept ===


@pytest.mark.slow
def test_a_student_starts_with_all_weights(base, tmp_path):
    config = DistillationRunConfig(
        teacher=str(base), data=str(base / "tokens"), run=tmp_path / "run", num_layers=2
    )
    run = DistillationRun(config)
    run.prepare()
    teacher = {v.path: np.array(v) for v in ak.load_checkpoint(base).weights}
    for variable in run.model.student.weights:
        assert np.array_equal(variable, teacher[variable.path]), variable.path
    assert run.model.student.backbone.num_layers == 2
