"""The benchmarks: contenders in turn, on tiny models."""

import json

import numpy as np
import pytest

from albert_keras import sample
from albert_keras.export import export_saved_model
from albert_keras.models import AlbertTextClassifier, AlbertTextEmbedder
from albert_keras.runs import evaluate_run
from tests.runs.conftest import finish, rows
from tests.serving.server_process import server_process
from tests.tasks.task_checks import make_backbone, make_tokenizer
from tools.benchmarks import (
    data,
    fit_and_predict,
    harness,
    inference,
    pareto,
    serving,
    training,
)

__all__ = ["finish", "rows"]


def test_factors_are_computed_within_a_round():
    rounds = [
        {"slow": {"step": 4.0}, "fast": {"step": 1.0}},
        {"slow": {"step": 9.0}, "fast": {"step": 3.0}},
        {"slow": {"step": 5.0}, "fast": {"step": 1.0}},
    ]
    found = harness.summarize(rounds, 1000)["step"]
    assert found["fast"] == {"median": 1000.0, "times_as_fast": 4.0}
    assert found["slow"] == {"median": 5000.0, "times_as_fast": 1.0}


@pytest.mark.slow
def test_steps_are_compared_in_processes_of_their_own(capsys):
    words = "--preset albert_test --batch-size 3 --sequence-length 17 --rounds 1 --json"
    words += " --num-predictions 5 --only products albert_keras_memory_returned"
    words += " --processor-time"  # Other tests run at the same time.
    training.main(words.split())
    out, err = capsys.readouterr()
    results = json.loads(out)
    found = results["cases"]["a step"]
    assert [*found] == ["products", "albert_keras_memory_returned"]
    # A model this small takes longer for the calls than for the products.
    assert 0 < found["albert_keras_memory_returned"]["times_as_fast"] < 1
    assert min(results["gibibytes"].values()) > 0.1
    assert "round 1 of 1" in err


def test_every_way_to_make_examples_is_measured(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(["A storm came.\nGulls and boats left."] * 9))
    work = {"text": [str(text)], "tokenizer": "albert_nano_en", "max_characters": 10**6}
    work |= {"clock": "process_time"}
    for contender in data.CONTENDERS.values():
        assert contender.prepare(work)()["tokens"] > 0


def test_python_and_the_commands_do_the_same(tmp_path):
    texts = [("wet gulls", "sea"), ("dry sand", "land")] * 3
    (tmp_path / "rows.csv").write_text(
        "\n".join(map(",".join, [("text", "label"), *texts]))
    )
    work = {"preset": "albert_nano_en", "train": str(tmp_path / "rows.csv")}
    work |= {"clock": "perf_counter"}
    results = [c.prepare(work)() for c in fit_and_predict.CONTENDERS.values()]
    assert results[0].keys() == results[1].keys()
    assert min(min(found.values()) for found in results) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options", "library"),
    [
        (AlbertTextClassifier, {"num_classes": 2}, "keras_hub"),
        (AlbertTextEmbedder, {}, "sentence_transformers"),
    ],
)
# The test model has another `initializer_range`, which keras-hub cannot store.
@pytest.mark.filterwarnings("ignore:.* left out. initializer_range=0.2")
def test_exports_predict_the_cases_of_both_kinds_of_rows(
    kind, options, library, tmp_path
):
    pytest.importorskip(library)
    names = ["saved_model", library]
    preprocessor = kind.preprocessor_cls(make_tokenizer(), 19)
    model = kind(make_backbone(), preprocessor=preprocessor, **options)
    model.save_to_preset(str(tmp_path / "model"))
    lines = sample.CORPUS.read_text("utf-8").splitlines()[:9]
    (tmp_path / "a.txt").write_text("\n".join(["No.", *lines]))
    words = f"{tmp_path / 'model'} --texts {tmp_path / 'a.txt'} --rows 5"
    words += f" --batch-sizes 1 3 --only {' '.join(names)}"
    work = inference.prepare(inference.parse(words.split()), tmp_path)
    work |= {"clock": "process_time", "threads": 1}
    for name in names:
        seconds = inference.CONTENDERS[name].prepare(work)()
        assert seconds.keys() == {"1 x texts", "3 x texts", "1 x 19", "3 x 19"}
        assert min(seconds.values()) > 0
    cases = json.loads((tmp_path / inference.CASES).read_text())
    for case in cases.values():
        lengths = [*map(len, case["token_ids"])]
        assert len(case["texts"]) == len(lengths) == 5
        # Rows of the model's 19 tokens, or of texts, some of them shorter.
        assert max(lengths) == 19
        batches = [*inference.padded_batches(case)]
        masks = [mask.sum(axis=1).tolist() for _, mask in batches]
        assert np.concatenate(masks).tolist() == lengths
        assert [len(mask) for mask in masks] in ([1] * 5, [3, 2])
    assert min(len(case["token_ids"][0]) for case in cases.values()) < 19


@pytest.mark.slow
def test_a_server_is_asked_by_clients(tmp_path):
    model = AlbertTextClassifier(make_backbone(), 3)
    export_saved_model(model, tmp_path / "model", make_tokenizer())
    # Forked, which starts ten times as fast.
    with server_process(tmp_path / "model") as (_, address):
        found = serving.ask(address, ["storms", "gulls and boats"], 3, seconds=0.3)
    assert 0 < found["median"] <= found["99 of 100"]
    # Three clients wait side by side.
    assert found["a request"] < found["99 of 100"]


@pytest.mark.slow
def test_variants_of_a_run_with_exits(finish, rows, tmp_path, monkeypatch, capsys):
    pytest.importorskip("ai_edge_litert.interpreter")
    # One of the forms: they differ in their writers.
    forms = {"TFLite int8": pareto.EXPORTED["TFLite int8"]}
    monkeypatch.setattr(pareto, "EXPORTED", forms)
    facts = {"labels": ("a", "b")}
    run, model = finish("text-classification", facts=facts, early_exit="joint")
    model.exit_rule = {"name": "patience", "patience": 2}
    model.save_to_preset(str(run / "model"))
    words = [run, "--data", rows, "--num-rounds", 2, "--num-timed-rows", 7]
    words += ["--output", tmp_path / "a.json", "--plot", tmp_path / "a.png"]
    pareto.main([*map(str, words)])
    assert "2 of 3 layers: 0." in capsys.readouterr().out
    results = json.loads((tmp_path / "a.json").read_text())
    assert (tmp_path / "a.png").stat().st_size > 0
    assert (results["num_rows"], results["num_timed_rows"]) == (40, 7)
    variants = {variant["name"]: variant for variant in results["variants"]}
    cuts = ["1 of 3 layers", "2 of 3 layers"]
    full = f"{tmp_path.name}/run"
    assert [*variants] == [full, *cuts, "exit by patience", "TFLite int8"]
    assert [variants[name]["mean_depth"] for name in (*cuts, full)] == [1, 2, 3]
    assert min(variant["milliseconds"] for variant in variants.values()) > 0
    scores = evaluate_run(run, rows)
    rule = variants["exit by patience"]
    assert rule["score"] == scores["accuracy"]
    assert rule["mean_depth"] == scores["mean_exit_depth"]
