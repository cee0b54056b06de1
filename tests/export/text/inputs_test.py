"""Texts of no and of any size, and bytes that are none, on each kind of signature."""

import pathlib

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text

from albert_keras import sample
from tests.export.text.conftest import STRANGE, approximately
from tests.helpers import max_difference

# A megabyte; and the characters that are tagged, or asked about.
TEXT, LONG = 6 * sample.CORPUS.read_text("utf-8"), 2**15
# What is between a sample and its texts.
SAMPLES = {
    "classes": lambda text: text,
    "masks alone": lambda text: f"[MASK] {text[:9]}",
    "tags": lambda text: text[:LONG],
    "choices": lambda text: (text, text[:9], [text, "a"]),
    "plain answers": lambda text: (text[:9], f"the {text[:LONG]}"),
}


@pytest.fixture(scope="module", params=SAMPLES)
def served(request, make_run, serve):
    """A function from texts to samples, and the models in Keras and in a SavedModel."""
    run = make_run(request.param)
    predictor, signatures = serve(run.model)
    return SAMPLES[request.param], run, predictor, signatures["serving_default"]


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


def check_equal(found, expected):
    if expected.dtype == tf.string:
        assert (found == expected).numpy().all()
    else:
        assert max_difference(found, expected) < 1e-5


@pytest.mark.slow
def test_any_text_is_answered_as_by_keras(served):
    sample_of, run, predictor, signature = served
    texts = [*STRANGE[:3], *STRANGE[4:7], TEXT]
    samples = [sample_of(text) for text in texts]
    assert len(texts[-1]) > 2**20
    assert same(run.predict(samples), predictor.predict(samples))

    texts = [f"{number} storms, {STRANGE[number % 9][:7]}" for number in range(1000)]
    outputs = signature(**inputs_of(signature, texts))
    assert {len(values) for values in outputs.values()} == {1000}
    # The first ones are answered as by themselves.
    few = signature(**inputs_of(signature, texts[:37]))
    for name, values in few.items():
        check_equal(outputs[name][tuple(map(slice, values.shape))], values)


@pytest.mark.slow
def test_every_operation_is_one_that_the_stock_server_links(served):
    """TensorFlow Serving's build file links those of TensorFlow and tensorflow-text."""
    graph = served[-1].graph.as_graph_def()
    used = {node.op for node in graph.node}
    used |= {node.op for f in graph.library.function for node in f.node_def}
    used -= {f.signature.name for f in graph.library.function}
    assert any(name.startswith("TFText>") for name in used)
    linked = {*dir(tf.raw_ops)}
    folder = pathlib.Path(tensorflow_text.__file__).parent / "python" / "ops"
    for library in folder.glob("*.so"):
        # The functions of `TFText>Name` are `TFText_Name`.
        names = dir(tf.load_op_library(str(library)))
        linked |= {name.replace("TFText_", "TFText>") for name in names}
    linked = {name.lower() for name in linked}
    assert {name for name in used if name.lower() not in linked} == set()


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
            check_equal(received[name], values)
