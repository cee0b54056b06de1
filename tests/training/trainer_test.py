"""Training through `Trainer.fit`: logs, checkpoints, and resumes that are exact."""

import json
import signal

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import AlbertBackbone, AlbertPretrainer
from albert_keras.optimizers import Lamb, WarmupPolynomialDecay
from albert_keras.training import Trainer, TrainerConfig
from albert_keras.training.checkpoints import named_arrays
from albert_keras.training.strategies import Strategy
from tests.forked_processes import forked_processes
from tests.helpers import max_difference
from tests.processes import claimed_by_another
from tests.training import small_run

LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
LOSSES = {"mlm_logits": LOSS, "sop_logits": LOSS}
METRICS = {
    name: [keras.metrics.SparseCategoricalAccuracy(name="accuracy")] for name in LOSSES
}
BATCH, LENGTH, PREDICTIONS = 6, 13, 4


def random_batches(num_batches, seed=5):
    """Batches whose numbers of masked pieces differ between halves and batches."""
    draw = np.random.default_rng(seed)
    shape = (num_batches, BATCH, LENGTH)
    features = {
        "token_ids": draw.integers(5, 61, shape, "int32"),
        "segment_ids": draw.integers(0, 2, shape, "int32"),
        "padding_mask": np.ones(shape, "int32"),
        "mask_positions": draw.integers(1, LENGTH, (*shape[:2], PREDICTIONS), "int32"),
    }
    labels = {
        "mlm_logits": draw.integers(5, 61, (*shape[:2], PREDICTIONS), "int32"),
        "sop_logits": draw.integers(0, 2, shape[:2], "int32"),
    }
    weights = {
        "mlm_logits": (draw.random((*shape[:2], PREDICTIONS)) < 0.5).astype("float32"),
        "sop_logits": np.ones(shape[:2], "float32"),
    }
    weights["mlm_logits"][:, BATCH // 2 :, 1:] = 0.0
    return tf.data.Dataset.from_tensor_slices((features, labels, weights))


def make_dataset(step):
    return random_batches(11).repeat().skip(step)


def train(folder, num_steps, strategy=None, dropout=0.0, dtype=None, **config):
    keras.utils.set_random_seed(3)
    trainer = Trainer(
        folder, TrainerConfig(num_steps, **{"steps_per_evaluation": 3, **config})
    )
    with (strategy or tf.distribute.get_strategy()).scope():
        backbone = AlbertBackbone.from_config_preset(
            "albert_test", dtype=dtype, dropout=dropout
        )
        model = AlbertPretrainer(backbone)
        schedule = WarmupPolynomialDecay(0.02, decay_steps=17, warmup_steps=2)
        optimizer = Lamb(schedule, global_clipnorm=1.0)
        trainer.compile(model, optimizer, LOSSES, METRICS)
    logs = trainer.fit(model, make_dataset, random_batches(2, seed=7))
    return model, logs


def weight_difference(model, other):
    return max_difference(model.get_weights(), other.get_weights())


# === A model of the package ===


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """A run of eight steps: its folder, options, model and logs."""
    folder = tmp_path_factory.mktemp("pretrained")
    # Half precision adds the state of the loss scale.
    options = {"dropout": 0.1, "dtype": "mixed_float16", "steps_per_log": 2}
    options["num_checkpoints"] = 2
    return folder, options, *train(folder, 8, **options)


@pytest.mark.slow
def test_resumed_run_equals_an_uninterrupted_one(pretrained, tmp_path):
    _, options, whole, logs = pretrained
    train(tmp_path, 3, **options)
    resumed, resumed_logs = train(tmp_path, 8, **options)
    assert weight_difference(whole, resumed) == 0.0
    assert logs == pytest.approx(resumed_logs, rel=1e-6)


@pytest.mark.slow
def test_finished_run_is_left_alone(pretrained):
    folder, options, model, _ = pretrained
    again, logs = train(folder, 8, **options)
    assert logs == {}
    assert weight_difference(model, again) == 0.0


@pytest.mark.slow
def test_run_folder_holds_log_checkpoints_and_tensorboard(pretrained):
    folder, *_ = pretrained
    log = (folder / "log.jsonl").read_text("utf-8")
    lines = [json.loads(line) for line in log.splitlines()]
    evaluations = [line for line in lines if "val_loss" in line]
    assert [line["step"] for line in evaluations] == [3, 6, 8]
    assert {"learning_rate", "seconds", "mlm_logits_accuracy"} <= set(lines[0])
    best = json.loads((folder / "checkpoints" / "best.json").read_text())
    losses = {line["step"]: line["val_loss"] for line in evaluations}
    assert best["value"] == losses[best["step"]] == min(losses.values())
    names = {path.name for path in (folder / "checkpoints").iterdir()}
    kept = {"step-00000006.npz", "step-00000008.npz", best["file"]}
    assert names == {*kept, "best.json"}
    assert list((folder / "tensorboard").rglob("events.out.tfevents*"))


# === A small model ===


def test_diverged_training_stops_with_step_and_rate(tmp_path):
    trainer, model = small_run.make_trainer(tmp_path)
    trainer.compile(model, Lamb(float("nan")), LOSS, [])
    # The loss is that of before the step, its gradient is finite: the next one's is not.
    with pytest.raises(FloatingPointError, match="gradient norm nan at step 2"):
        trainer.fit(model, small_run.make_dataset)


def test_mixed_precision_trains(tmp_path):
    trainer, model = small_run.make_trainer(
        tmp_path, num_steps=4, dtype="mixed_bfloat16"
    )
    logs = trainer.fit(model, small_run.make_dataset)
    assert np.isfinite(logs["loss"])
    assert {v.dtype for v in model.trainable_variables} == {"float32"}
    assert model.layers[-1].compute_dtype == "bfloat16"


# === Resuming ===


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return small_run.outcome(folder, *small_run.train(folder))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at_step", "number", "options"),
    [
        (1, signal.SIGTERM, {}),
        (6, signal.SIGINT, {}),
        (3, signal.SIGTERM, {"steps_per_execution": 8}),
    ],
    ids=["first-interval", "keyboard", "several-a-call"],
)
def test_a_run_stopped_by_a_signal_resumes_exactly(
    tmp_path, whole, at_step, number, options
):
    found, newest = small_run.stop_and_resume(tmp_path, at_step, number, **options)
    assert newest != "step-00000008.npz"
    if not options:
        assert found == whole
    # Of several steps a call, the log has fewer lines.
    assert found["weights"] == whole["weights"]


def train_with_patience(folder, num_steps=20):
    """Trains with evaluations at 3, 6, ... of which the second is the best."""
    trainer, model = small_run.make_trainer(
        folder,
        num_steps,
        steps_per_evaluation=3,
        best_metric="val_score",
        patience=2,
    )
    scores = {3: 0.5, 6: 0.75, 9: 0.625, 12: 0.75}

    def evaluate():
        return {"score": scores[int(model.optimizer.iterations)]}

    return small_run.outcome(
        folder, model, trainer.fit(model, small_run.make_dataset, evaluate)
    )


@pytest.mark.slow
def test_patience_ends_a_run_at_the_same_step_when_interrupted(tmp_path):
    whole = train_with_patience(tmp_path / "whole")
    assert [x["step"] for x in whole["lines"] if "val_score" in x] == [3, 6, 9, 12]
    assert whole["best"]["step"] == 6
    # Called again it is finished: it neither trains nor evaluates.
    again = train_with_patience(tmp_path / "whole")
    assert again == {**whole, "logs": {}}
    train_with_patience(tmp_path / "cut", num_steps=9)
    assert train_with_patience(tmp_path / "cut") == whole


@pytest.mark.slow
@pytest.mark.parametrize("at_step", [2, 7])
def test_a_run_lost_between_checkpoints_resumes_exactly(tmp_path, whole, at_step):
    options = {"steps_per_checkpoint": 3}
    breaking = small_run.interrupted_by(small_run.fail, at_step)
    with pytest.raises(tf.errors.OpError):
        small_run.train(tmp_path, breaking, **options)
    assert small_run.outcome(tmp_path, *small_run.train(tmp_path, **options)) == whole


def test_a_run_with_a_damaged_newest_checkpoint_resumes_exactly(
    tmp_path, whole, capsys
):
    small_run.train(tmp_path, num_steps=7)
    newest = tmp_path / "checkpoints" / "step-00000007.npz"
    newest.write_bytes(newest.read_bytes()[:-9])
    assert small_run.outcome(tmp_path, *small_run.train(tmp_path)) == whole
    assert "step-00000007.npz" in capsys.readouterr().err


def test_best_can_be_loaded(tmp_path, whole):
    small_run.train(tmp_path, num_checkpoints=1)
    trainer, model = small_run.make_trainer(tmp_path)
    best = trainer.restore_best(model)
    assert best._asdict() == {k: whole["best"][k] for k in best._fields}
    assert model.evaluate(small_run.batches(7, 4), verbose=0)[0] == best.value


def test_worker_that_is_not_chief_restores_but_writes_nothing(tmp_path, whole, capsys):
    small_run.train(tmp_path, num_steps=5)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    capsys.readouterr()
    other = Strategy("default", worker=1)
    model, _ = small_run.train(tmp_path, strategy=other)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert capsys.readouterr() == ("", "")
    arrays = {k: v.tolist() for k, v in named_arrays(model).items()}
    assert arrays == whole["weights"]


def test_dry_run_leaves_model_and_folder_as_they_are(tmp_path):
    trainer, model = small_run.make_trainer(tmp_path / "run", num_steps=720)
    before = named_arrays(model)
    results = trainer.dry_run(model, small_run.make_dataset)
    assert not (tmp_path / "run").exists()
    assert named_arrays(model).keys() == before.keys()
    for name, array in named_arrays(model).items():
        assert np.array_equal(array, before[name]), name
    assert results["batch"] == {"token_ids": [6, 13]}
    assert results["num_steps"] == 720
    assert results["hours"] == pytest.approx(results["seconds_per_step"] / 5)
    trained = results["tokens_per_second"] * results["seconds_per_step"]
    assert trained == pytest.approx(6 * 13)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "strategy"), [("jax", "default"), ("tensorflow", "mirrored")]
)
def test_a_run_of_another_process_resumes_exactly(tmp_path, backend, strategy):
    pytest.importorskip(backend)
    num_replicas = 2 if strategy == "mirrored" else 1
    options = {"num_devices": num_replicas, "KERAS_BACKEND": backend}
    with forked_processes() as start:
        process = start(small_run.main, tmp_path, strategy, **options)
        output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert output.startswith(f"{backend} {num_replicas} step-0000000")


def test_a_folder_of_another_process_is_left_alone(tmp_path):
    with claimed_by_another(tmp_path):
        with pytest.raises(BlockingIOError, match="Only one process"):
            small_run.train(tmp_path)
    assert list(tmp_path.iterdir()) == []
