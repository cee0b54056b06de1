"""Answers of exported models, by graphs of text and of ids, against the Keras model."""

import itertools

import pytest

from albert_keras.export import EXPORTERS, export_saved_model, load_exported
from albert_keras.runs import evaluate_run
from tests.export.text.conftest import LONG_SENTENCES, QUESTIONS, STRANGE, approximately

SAMPLES = {
    "tags": [
        *(["New York", "", "storms"], ["\0"], ["a\u2028b", " "]),
        *(*LONG_SENTENCES, *(text for text in STRANGE if text.split())),
    ],
    "choices": [
        ("gulls count storms", "who _ the __ lighthouse?", [r"a\1", "2012,", "\\"]),
        (
            "storms " * 30,
            "what is it, and why is it so very long?",
            ["x", "", "boats " * 9],
        ),
        *((text, f"{text}_", [text, "storms", "boats_"]) for text in STRANGE),
    ],
    **dict.fromkeys(("plain answers", "joint answers"), QUESTIONS),
    "masks": [
        *("the [MASK] counts [MASK]", "[MASK] [MASK] in 2012, [MASK]."),
        *(f"a [MASK] {text[:12]}" for text in STRANGE),
    ],
    "windows": ["storms and the gulls " * 5, "", "the baker"],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "name"),
    [
        *itertools.product(("saved_model", "tflite", "onnx"), SAMPLES),
        # A graph of text reads the beginning.
        *(("text", name) for name in SAMPLES if name != "windows"),
    ],
)
def test_answers_are_those_of_keras(name, form, make_run, tmp_path):
    if form in ("tflite", "onnx"):
        pytest.importorskip({"onnx": "tf2onnx", "tflite": "ai_edge_litert"}[form])
    run, samples = make_run(name), SAMPLES[name]
    format = "saved_model" if form == "text" else form
    tokenizer = "auto" if form == "text" else None
    options = {"tokenizer": tokenizer, "task": run.task}
    EXPORTERS[format].write(run.model, tmp_path / "model", **options)
    expected = run.predict(samples, 3)
    received = load_exported(tmp_path / "model").predict(samples, 3)
    assert received == approximately(expected)


@pytest.mark.slow
def test_a_model_of_ids_is_evaluated_and_checks_texts(make_run, tmp_path):
    task, tagger = make_run("tags")
    export_saved_model(tagger, tmp_path / "tags", tokenizer=None)
    rows = tmp_path / "rows.txt"
    rows.write_text("The O\nbaker B-PER\n\nstorms O\n")
    scores = task.evaluate(tagger, task.prepare(task.read(rows)), 3)
    assert evaluate_run(tmp_path / "tags", rows) == approximately(scores)
    run = make_run("masks")
    export_saved_model(run.model, tmp_path / "masks", tokenizer=None)
    with pytest.raises(ValueError, match="at most 19 tokens, .* Received: 43"):
        load_exported(tmp_path / "masks").predict(["[MASK] " * 41])
