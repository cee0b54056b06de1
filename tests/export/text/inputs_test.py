"""Texts of no and of any size, and bytes that are none, on each kind of signature."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.export import export_saved_model, load_exported
from albert_keras.models import (
    AlbertBackbone,
    AlbertMaskedLM,
    AlbertMultipleChoice,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from albert_keras.runs.inference import LoadedModel
from albert_keras.tasks.masked_words import MaskedWordsTask
from albert_keras.tasks.prediction import task_of
from tests.export.stock_server import unlinked_operations
from tests.export.text.conftest import STRANGE, approximately

# Characters of the longest text that are tagged, or asked about: for a megabyte the
# model in Keras, with which answers are compared, takes ten seconds.
LONG = 2**17
# Models, what is between a sample and its texts, and the names of their inputs.
KINDS = {
    "classifier": (AlbertTextClassifier, {"num_classes": 3}, lambda text: text),
    "masks": (AlbertMaskedLM, {}, lambda text: f"[MASK] {text[:9]}"),
    "tags": (AlbertTokenClassifier, {"num_classes": 3}, lambda text: text[:LONG]),
    "choices": (AlbertMultipleChoice, {}, lambda text: (text, text[:9], [text, "a"])),
    "answers": (
        AlbertQuestionAnswerer,
        {},
        lambda text: (text[:9], f"the {text[:LONG]}"),
    ),
}


@pytest.fixture(scope="module", params=KINDS)
def served(request, tokenizer, tmp_path_factory):
    """A function from texts to samples, and the models in Keras and in a SavedModel."""
    kind, options, sample_of = KINDS[request.param]
    keras.utils.set_random_seed(7)
    backbone = AlbertBackbone.from_config_preset(
        "albert_test",
        vocabulary_size=211,
        num_layers=1,
        max_sequence_length=131,
        initializer_range=0.2,
    )
    lengths = {"sequence_length": 19}
    if request.param == "answers":
        # The longest text has hundreds of windows.
        lengths = {"sequence_length": 131, "doc_stride": 113, "max_question_length": 5}
    preprocessor = kind.preprocessor_cls(tokenizer, **lengths)
    model = kind(backbone, preprocessor=preprocessor, **options)
    is_masks = request.param == "masks"
    task = MaskedWordsTask(tokenizer) if is_masks else task_of(model)
    path = tmp_path_factory.mktemp("served") / "model"
    export_saved_model(model, path)
    signature = tf.saved_model.load(str(path)).signatures["serving_default"]
    return sample_of, LoadedModel(task, model), load_exported(path), signature


def same(expected, received):
    """Whether an exported model answers like a run; a classifier with fewer names."""
    if isinstance(received, dict):
        logits = np.array([row["logits"] for row in expected])
        return np.abs(received["logits"] - logits).max() < 1e-5
    return received == approximately(expected)


def inputs_of(signature, texts, wide=("a", "b")):
    """Returns the same strings for each input, and choices for those of two axes."""
    _, specs = signature.structured_input_signature
    return {
        name: tf.constant(texts if spec.shape.rank == 1 else [[*wide]] * len(texts))
        if texts
        else tf.zeros([0, *[2] * (spec.shape.rank - 1)], tf.string)
        for name, spec in specs.items()
    }


@pytest.mark.slow
def test_any_text_is_answered_as_by_keras(served):
    sample_of, run, predictor, signature = served
    texts = [*STRANGE[:3], *STRANGE[4:7], "storms and gulls " * 2**16]
    samples = [sample_of(text) for text in texts]
    assert len(texts[-1]) > 2**20
    assert same(run.predict(samples), predictor.predict(samples))

    texts = [f"{number} storms, {STRANGE[number % 9][:7]}" for number in range(1000)]
    outputs = signature(**inputs_of(signature, texts))
    assert {len(values) for values in outputs.values()} == {1000}
    # The first ones are answered as by themselves.
    few = signature(**inputs_of(signature, texts[:37]))
    for name, values in few.items():
        found = outputs[name][tuple(map(slice, values.shape))].numpy()
        if values.dtype == tf.string:
            assert (found == values.numpy()).all(), name
        else:
            assert np.abs(found - values.numpy()).max() < 1e-5, name


@pytest.mark.slow
def test_every_operation_is_one_that_the_stock_server_links(served):
    *_, signature = served
    assert unlinked_operations(signature.graph.as_graph_def()) == set()


@pytest.mark.slow
def test_no_text_and_no_utf_8(served):
    *_, signature = served
    outputs = signature(**inputs_of(signature, []))
    assert {len(values) for values in outputs.values()} == {0}
    # Bytes that are not UTF-8 are left out.
    damaged, whole = b"the\xff [MASK] \xc3 storms\xe2", b"the [MASK]  storms"
    received, expected = (
        signature(**inputs_of(signature, [text])) for text in (damaged, whole)
    )
    for name, values in expected.items():
        if not name.endswith(("starts", "ends")):
            found = received[name].numpy()
            if values.dtype == tf.string:
                assert (found == values.numpy()).all(), name
            else:
                assert np.abs(found - values.numpy()).max() < 1e-5, name
