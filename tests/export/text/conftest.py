"""Models of text: one tiny backbone, and a head of each kind."""

import dataclasses

import keras
import pytest
import tensorflow as tf

from albert_keras import sample
from albert_keras.export import export_saved_model, load_exported
from albert_keras.models import (
    AlbertJointQuestionAnswerer,
    AlbertMaskedLM,
    AlbertMultipleChoice,
    AlbertPretrainer,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from albert_keras.runs.inference import LoadedModel
from albert_keras.tasks import Recipe, TextClassificationTask
from albert_keras.tasks.masked_words import MaskedWordsTask
from albert_keras.tasks.prediction import task_of

TAGS = ["O", "B-PER", "I-PER", "I-LOC"]
WINDOWS = {"sequence_length": 19, "doc_stride": 5, "max_question_length": 6}
# A class, its arguments, and those of its preprocessor.
MODELS = {
    "classes": (AlbertTextClassifier, {"num_classes": 3}, {"sequence_length": 19}),
    "tags": (
        *(AlbertTokenClassifier, {"num_classes": 4, "labels": TAGS}),
        {"sequence_length": 13},
    ),
    "choices": (
        *(AlbertMultipleChoice, {}),
        {"sequence_length": 19, "max_question_length": 9},
    ),
    "plain answers": (AlbertQuestionAnswerer, {}, WINDOWS),
    "joint answers": (AlbertJointQuestionAnswerer, {}, WINDOWS),
    "masks": (AlbertPretrainer, {}, {}),
    "masks alone": (AlbertMaskedLM, {}, {}),
    "windows": (AlbertTextClassifier, {"num_classes": 3, "labels": TAGS[:3]}, None),
}

# Traps of text: nothing, white space, controls, NUL, characters of several code points
# and of none of the vocabulary's, from right to left, and what normalization changes.
STRANGE = [
    "",
    " \t\u3000",
    "storms\0 and\0gulls",
    "\ufeffstorms\u2028 and \x01gulls\x7f",
    "the 👩\u200d👩\u200d👧 🙂 storms",
    "שָׁלוֹם storms العَرَبِيَّة",
    "你好，the 世界。",
    "  In 2012,  THE Cafe\u0301 ﬁ Ⅷ ΟΔΟΣ \u0301 sto\u0301rms\u0301 ",
    "\u1112\u1161\u11ab한 İ ½ … q\u0323\u0307",
]

# They become several sequences; long words are cut.
LONG_SENTENCES = [
    *("storms and the gulls " * 11, "stormsgulls" * 9 + " the storms", "a " * 40),
]

_WORDS = " ".join(sample.CORPUS.read_text("utf-8").split()[:83])
# The long context has several windows, more in all than a part. No two parts are alike:
# like parts are equally good answers, and rounding, which differs between processors,
# would choose one.
QUESTIONS = [
    ("who counts?", f"In 2012,  the baker\tcounts: {_WORDS}"),
    ("a question which is too long, and is cut?", "the lighthouse and the gulls " * 3),
    *((text, f"the Cafe\u0301, {text}") for text in STRANGE),
    ("who?", " \n"),
]


@pytest.fixture(scope="session")
def make_run(backbone, tokenizer):
    """Function that makes one of `MODELS` with its task."""

    def make(name):
        # With other weights all words may have one tag.
        keras.utils.set_random_seed(5)
        kind, options, lengths = MODELS[name]
        if lengths is None:
            recipe, labels = Recipe(sequence_length=7), tuple(options["labels"])
            task = TextClassificationTask(recipe, long_texts="windows", labels=labels)
            run = LoadedModel(task, kind(backbone, **options))
        else:
            preprocessor = kind.preprocessor_cls(tokenizer, **lengths)
            model = kind(backbone, preprocessor=preprocessor, **options)
            fills = name.startswith("masks")
            run = LoadedModel(MaskedWordsTask() if fills else task_of(model), model)
        return run._replace(task=dataclasses.replace(run.task, tokenizer=tokenizer))

    return make


@pytest.fixture(scope="session")
def serve(tmp_path_factory):
    """Function that exports a model; returns it loaded, and its signatures."""

    def export(model, **options):
        path = tmp_path_factory.mktemp("served") / "model"
        export_saved_model(model, path, **options)
        return load_exported(path), tf.saved_model.load(path).signatures

    return export


def approximately(expected):
    """Returns answers with numbers that compare up to rounding of float32."""
    if isinstance(expected, dict):
        return {name: approximately(value) for name, value in expected.items()}
    if isinstance(expected, (list, tuple)):
        return [approximately(value) for value in expected]
    if isinstance(expected, float):
        return pytest.approx(expected, rel=1e-4, abs=1e-5)
    return expected
