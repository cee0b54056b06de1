"""Heads as keras-hub's documentation uses its models, from text to a saved model.

Other heads than these are used alike in the tests of their models.
"""

import keras
import numpy as np
import pytest

import albert_keras as ak
from tests.forked_processes import forked_processes
from tests.helpers import max_difference
from tests.tasks.task_checks import LENGTH, make_backbone, make_tokenizer

CONTEXTS = ["It was written by Ann.", "The cat slept at home.", "No."]
QUESTIONS = ["Who wrote it?", "Where was the cat?", "Why?"]
ANSWERS = {"text": ["Ann", "home", ""], "answer_start": [18, 17, 0]}
WORDS = [text.split() for text in CONTEXTS]
# Class, its arguments, x and y of `fit`.
HEADS = {
    "texts": (ak.AlbertTextClassifier, {"num_classes": 4}, CONTEXTS, [3, 0, 2]),
    "masks": (ak.AlbertMaskedLM, {}, CONTEXTS, None),
    "questions": (ak.AlbertQuestionAnswerer, {}, (QUESTIONS, CONTEXTS), ANSWERS),
    "tags": (
        *(ak.AlbertTokenClassifier, {"num_classes": 3}),
        *(WORDS, [[1] * len(words) for words in WORDS]),
    ),
}

# All heads, on other backends: see tests/other_backends_test.py.
LEARNERS = HEADS | {
    "joint": (ak.AlbertJointQuestionAnswerer, *HEADS["questions"][1:]),
    "choices": (
        *(ak.AlbertMultipleChoice, {}),
        *((QUESTIONS, [["Ann.", "No."]] * 3), [0, 1, 1]),
    ),
    "exits": (ak.AlbertEarlyExitClassifier, *HEADS["texts"][1:]),
}
OPTIMIZERS = {"tags": ak.Lamb, "exits": ak.optimizers.Muon}


# On TensorFlow other tests train all heads.
@pytest.mark.skipif(keras.config.backend() == "tensorflow", reason="of other backends")
@pytest.mark.parametrize("name", LEARNERS)
def test_a_head_learns_from_text(name, tokenizer):
    cls, options, x, y = LEARNERS[name]
    preprocessor = cls.preprocessor_cls(tokenizer, LENGTH)
    if name in ("questions", "joint"):
        preprocessor.max_question_length = 11
    config = make_backbone().get_config() | {"num_layers": 2}
    backbone = ak.AlbertBackbone.from_config(config)
    model = cls(backbone, preprocessor=preprocessor, **options)
    model.compile(OPTIMIZERS.get(name, ak.AdamW)(0.01))
    data = x, y
    if name in ("masks", "exits"):  # A second and third trace of the text take seconds.
        data = preprocessor(x, y)
    losses = model.fit(*data[:2], epochs=4, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    outputs = keras.tree.flatten(model.predict(data[0], verbose=0))
    assert all(np.isfinite(output).all() for output in outputs)


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


def load_and_call(folder, *names):
    """Loads the saved models and writes their outputs; is a process of its own."""
    for name in names:
        features = dict(np.load(f"{folder}/{name}.npz"))
        model = keras.saving.load_model(f"{folder}/{name}.keras")
        np.savez(f"{folder}/{name}_out.npz", *keras.tree.flatten(model(features)))


@pytest.mark.slow
def test_fit_evaluate_predict_save_load(tmp_path):
    keras.utils.set_random_seed(3)
    tokenizer = make_tokenizer()
    expected = {}
    for name, (cls, options, x, y) in HEADS.items():
        preprocessor = cls.preprocessor_cls(tokenizer, LENGTH)
        if name == "questions":
            preprocessor.max_question_length = 11
        model = cls(make_backbone(), preprocessor=preprocessor, **options)
        losses = model.fit(x, y, verbose=0).history["loss"]
        scores = model.evaluate(x, y, verbose=0, return_dict=True)
        assert np.isfinite([*losses, *scores.values()]).all(), name
        outputs = model.predict(x, verbose=0)
        assert {len(output) for output in keras.tree.flatten(outputs)} == {3}

        prepared = preprocessor(x=x)
        features = prepared[0] if isinstance(prepared, tuple) else prepared
        features = {key: np.asarray(value) for key, value in features.items()}
        expected[name] = keras.tree.flatten(model(features))
        np.savez(tmp_path / f"{name}.npz", **features)
        model.save(tmp_path / f"{name}.keras")
    with forked_processes() as start:
        assert start(load_and_call, tmp_path, *HEADS).wait() == 0
    for name, outputs in expected.items():
        with np.load(tmp_path / f"{name}_out.npz") as loaded:
            assert max_difference(list(loaded.values()), outputs) < 1e-6, name
