"""Answers of exported models, by graphs of text and of ids, against the Keras model."""

import dataclasses
import itertools

import keras
import pytest

from albert_keras.export import EXPORTERS, export_saved_model, load_exported
from albert_keras.models import (
    AlbertJointQuestionAnswerer,
    AlbertMultipleChoice,
    AlbertPretrainer,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from albert_keras.runs import evaluate_run
from albert_keras.runs.inference import LoadedModel
from albert_keras.tasks import Recipe, TextClassificationTask
from albert_keras.tasks.masked_words import MaskedWordsTask
from albert_keras.tasks.prediction import task_of
from tests.export.text.conftest import (
    LONG_SENTENCES,
    STRANGE,
    STRANGE_QUESTIONS,
    approximately,
    long_context,
)

TAGS = ["O", "B-PER", "I-PER", "I-LOC"]
WINDOWS = {"sequence_length": 19, "doc_stride": 5, "max_question_length": 6}
QUESTIONS = [
    ("who counts?", long_context(31)),
    ("a question which is too long, and is cut?", "the lighthouse and the gulls " * 3),
    *STRANGE_QUESTIONS,
    ("who?", " \n"),
]
# A class, its arguments and its preprocessor's, and samples.
MODELS = {
    "tags": (
        *(AlbertTokenClassifier, {"num_classes": 4, "labels": TAGS}),
        {"sequence_length": 13},
        [
            *(["New York", "", "storms"], ["\0"], ["a\u2028b", " "]),
            *(*LONG_SENTENCES, *(text for text in STRANGE if text.split())),
        ],
    ),
    "choices": (
        *(AlbertMultipleChoice, {}),
        {"sequence_length": 19, "max_question_length": 9},
        [
            ("gulls count storms", "who _ the __ lighthouse?", [r"a\1", "2012,", "\\"]),
            (
                "storms " * 30,
                "what is it, and why is it so very long?",
                ["x", "", "boats " * 9],
            ),
            *((text, f"{text}_", [text, "storms", "_"]) for text in STRANGE),
        ],
    ),
    "plain answers": (AlbertQuestionAnswerer, {}, WINDOWS, QUESTIONS),
    "joint answers": (AlbertJointQuestionAnswerer, {}, WINDOWS, QUESTIONS),
    "masks": (
        *(AlbertPretrainer, {}, {}),
        [
            *("the [MASK] counts [MASK]", "[MASK] [MASK] in 2012, [MASK]."),
            *(f"a [MASK] {text[:12]}" for text in STRANGE),
        ],
    ),
    "windows": (
        *(AlbertTextClassifier, {"num_classes": 3, "labels": TAGS[:3]}, None),
        ["storms and the gulls " * 5, "", "the baker"],
    ),
}


@pytest.fixture
def make_run(backbone, tokenizer):
    """Function that makes one of `MODELS` with its task."""

    def make(name):
        # With other weights all words may have one tag.
        keras.utils.set_random_seed(5)
        kind, options, lengths, _ = MODELS[name]
        if lengths is None:
            recipe, labels = Recipe(sequence_length=7), tuple(options["labels"])
            task = TextClassificationTask(recipe, long_texts="windows", labels=labels)
            run = LoadedModel(task, kind(backbone, **options))
        else:
            preprocessor = kind.preprocessor_cls(tokenizer, **lengths)
            model = kind(backbone, preprocessor=preprocessor, **options)
            task = MaskedWordsTask() if name == "masks" else task_of(model)
            run = LoadedModel(task, model)
        return run._replace(task=dataclasses.replace(run.task, tokenizer=tokenizer))

    return make


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "name"),
    [
        *itertools.product(("saved_model", "tflite", "onnx"), MODELS),
        # A graph of text reads the beginning.
        *(("text", name) for name in MODELS if name != "windows"),
    ],
)
def test_answers_are_those_of_keras(name, form, make_run, tmp_path):
    if form in ("tflite", "onnx"):
        pytest.importorskip({"onnx": "tf2onnx", "tflite": "ai_edge_litert"}[form])
    run, samples = make_run(name), MODELS[name][-1]
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
