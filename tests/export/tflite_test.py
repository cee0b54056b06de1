"""TFLite files: ids and text against the Keras model, sizes and errors."""

import itertools
import json

import keras_hub
import numpy as np
import pytest

from albert_keras.export import export_onnx, export_tflite, load_exported
from albert_keras.models import (
    AlbertMaskedLM,
    AlbertMultipleChoice,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from tests.export.conftest import assert_serves
from tests.helpers import max_difference

interpreter = pytest.importorskip("ai_edge_litert.interpreter")

LABELS = ["bad", "so-so", "göod"]
LENGTHS = {5: 11, 2: 17}

# How far each quantization may move outputs of order 1 of these models.
BOUNDS = {None: 1e-4, "float16": 5e-3, "int8": 0.05}

# A phone: no TensorFlow.
SERVE_IDS = """
import sys
sys.modules["tensorflow"] = sys.modules["keras"] = None
import numpy as np
from ai_edge_litert.interpreter import Interpreter
for path in sys.argv[1:]:
    interpreter = Interpreter(path)
    interpreter.allocate_tensors()
    serve = interpreter.get_signature_runner("serving_default")
    for batch in (5, 2):
        features = np.load(f"{path}.features_{batch}.npz")
        np.savez(f"{path}.outputs_{batch}.npz", **serve(**features))
"""

SERVE_TEXT = """
import json, sys
import numpy as np
from albert_keras.export import load_exported
for path in sys.argv[2:]:
    texts, predictor = json.loads(sys.argv[1]), load_exported(path)
    outputs = predictor.predict(texts, batch_size=4)
    outputs["of_pairs"] = predictor.predict([*zip(texts, texts[::-1])])["logits"]
    np.savez(f"{path}.npz", **outputs)
"""


def operations(path):
    """Names of the operations in a TFLite file."""
    details = interpreter.Interpreter(str(path))._get_ops_details()
    return {operation["op_name"] for operation in details}


@pytest.fixture(scope="module")
def preprocessor(tokenizer):
    return keras_hub.models.TextClassifierPreprocessor(tokenizer, sequence_length=13)


@pytest.fixture(scope="module")
def exports(backbone, classifier, block_classifier, tmp_path_factory):
    """Models and quantizations by the files that they were exported to."""
    folder = tmp_path_factory.mktemp("ids")
    exports = {
        folder / "backbone": (backbone, None),
        folder / "float32": (classifier, None),
        folder / "blocks": (block_classifier, None),
        folder / "float16": (classifier, "float16"),
        folder / "int8": (classifier, "int8"),
    }
    for path, (model, quantization) in exports.items():
        export_tflite(model, path, quantization)
    return exports


@pytest.fixture(scope="module")
def inside(classifier, tokenizer, tmp_path_factory):
    """File of a classifier with its tokenizer in the graph."""
    path = tmp_path_factory.mktemp("text") / "inside"
    export_tflite(
        classifier, path, tokenizer=tokenizer, labels=LABELS, sequence_length=13
    )
    return path


@pytest.fixture(scope="module")
def beside(classifier, preprocessor, tmp_path_factory):
    """File of a classifier with its tokenizer beside the graph."""
    path = tmp_path_factory.mktemp("text") / "beside"
    export_tflite(classifier, path, "int8", labels=LABELS, preprocessor=preprocessor)
    return path


@pytest.mark.slow
def test_ids_serve_without_tensorflow_at_any_batch_and_length(
    exports, random_features, run_fresh
):
    for path, (model, _) in exports.items():
        for batch, length in LENGTHS.items():
            features = random_features(model, batch, length)
            np.savez(f"{path}.features_{batch}.npz", **features)

    run_fresh(SERVE_IDS, *exports)

    for (path, (model, quantization)), batch in itertools.product(
        exports.items(), LENGTHS
    ):
        features = random_features(model, batch, LENGTHS[batch])
        actual = np.load(f"{path}.outputs_{batch}.npz")
        assert_serves(model, features, actual, BOUNDS[quantization])


@pytest.mark.slow
def test_pretrainer_predicts_at_any_number_of_positions(
    pretrainer, random_features, tmp_path
):
    export_tflite(pretrainer, tmp_path / "served")
    loaded = interpreter.Interpreter(str(tmp_path / "served"))
    loaded.allocate_tensors()
    serve = loaded.get_signature_runner("serving_default")
    features = random_features(pretrainer, 5, 11)
    for num_predictions in (4, 2):
        features["mask_positions"] = features["mask_positions"][:, :num_predictions]
        assert_serves(pretrainer, features, serve(**features), BOUNDS[None])


@pytest.mark.slow
def test_text_predicts_from_the_file_alone(
    classifier, preprocessor, inside, beside, texts, run_fresh
):
    assert preprocessor.tokenizer.encoder.digit_comma_splits
    run_fresh(SERVE_TEXT, json.dumps(texts), inside, beside)

    expected = np.asarray(classifier(preprocessor(texts)))
    of_pairs = np.asarray(classifier(preprocessor(x=(texts, texts[::-1]))))
    labels = [LABELS[index] for index in expected.argmax(axis=-1)]
    best_two = np.sort(expected, axis=-1)[:, -2:]
    for path, bound in ((inside, BOUNDS[None]), (beside, BOUNDS["int8"])):
        actual = np.load(f"{path}.npz")
        assert max_difference(actual["logits"], expected) <= bound, path.name
        assert max_difference(actual["of_pairs"], of_pairs) <= bound, path.name
        clear = np.diff(best_two)[:, 0] > 2 * bound
        assert clear.any()
        assert (actual["label"] == labels)[clear].all(), path.name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "shape"),
    [
        ({"sequence_length": 11}, (-1, 11)),
        # The length of the preprocessor.
        ({"batch_size": 4}, (4, 13)),
    ],
)
def test_fixed_sizes_with_the_preprocessor_of_the_model(
    backbone, preprocessor, texts, tmp_path, sizes, shape
):
    classifier = AlbertTextClassifier(backbone, 2, preprocessor=preprocessor)
    path = str(tmp_path / "served")
    export_tflite(classifier, path, **sizes)
    details = interpreter.Interpreter(path).get_input_details()
    assert {tuple(each["shape_signature"]) for each in details} == {shape}
    actual = load_exported(path).predict(texts)
    packer = keras_hub.models.TextClassifierPreprocessor(
        preprocessor.tokenizer, sequence_length=shape[1]
    )
    expected = classifier(packer(texts))
    assert sorted(actual) == ["logits", "probabilities"]
    assert max_difference(actual["logits"], expected) <= BOUNDS[None]
    if "batch_size" in sizes:
        compiled = run_compiled(path, packer(texts[:4]))
        assert max_difference(compiled.reshape(4, 2), expected[:4]) <= BOUNDS[None]


def run_compiled(path, features):
    """Returns the logits of LiteRT's `CompiledModel`, which takes no free sizes."""
    compiled = pytest.importorskip("ai_edge_litert.compiled_model")
    model = compiled.CompiledModel.from_file(path)
    names = model.get_signature_list()["serving_default"]
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    for name, buffer in zip(names["inputs"], inputs, strict=True):
        buffer.write(np.asarray(features[name], "int32").ravel())
    model.run_by_index(0, inputs, outputs)
    return outputs[names["outputs"].index("logits")].read(8, np.float32)


# Embeddings stay as they are.
@pytest.mark.filterwarnings("ignore:Invalid quantization mode")
def test_models_that_keras_quantized_are_refused(backbone, tmp_path):
    for mode in ("int8", "float8"):
        model = AlbertTextClassifier(
            type(backbone).from_config(backbone.get_config()), 2
        )
        model.quantize(mode)
        with pytest.raises(
            ValueError, match=f"in {mode}. Export the float model, with"
        ):
            export_tflite(model, tmp_path / "model")
    with pytest.raises(
        ValueError, match="ONNX does not support models .* in float8. Export the"
    ):
        export_onnx(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_sizes_are_bytes_a_parameter(large_classifier, tmp_path):
    num_parameters = large_classifier.count_params()
    for quantization, num_bytes in {None: 4, "float16": 2, "int8": 1}.items():
        path = tmp_path / f"{quantization}.tflite"
        export_tflite(large_classifier, path, quantization)
        size = path.stat().st_size / num_parameters
        assert num_bytes <= size <= num_bytes + 0.1, quantization


@pytest.mark.slow
def test_only_the_tokenizer_is_custom(exports, inside):
    for path in exports:
        assert all(name.isupper() for name in operations(path))
    assert {name for name in operations(inside) if not name.isupper()} == {
        "TFText>FastSentencepieceTokenize",
        "RaggedTensorToTensor",
    }


@pytest.mark.slow
def test_the_same_model_gives_the_same_bytes(
    classifier, preprocessor, beside, tmp_path
):
    again = tmp_path / "again"
    export_tflite(classifier, again, "int8", labels=LABELS, preprocessor=preprocessor)
    assert again.read_bytes() == beside.read_bytes()


def test_quantization_is_one_of_three(backbone, tmp_path):
    message = "None, float16, int8. Received: quantization='int4'"
    with pytest.raises(ValueError, match=message):
        export_tflite(backbone, tmp_path / "served", "int4")


def test_path_must_not_be_a_folder(backbone, tmp_path):
    with pytest.raises(ValueError, match=f"Received: '{tmp_path}', a folder"):
        export_tflite(backbone, tmp_path)


def test_the_tokenizer_goes_either_inside_or_beside(
    classifier, tokenizer, preprocessor, tmp_path
):
    with pytest.raises(ValueError, match=r"Received: tokenizer=.*, preprocessor=<"):
        export_tflite(
            classifier, tmp_path / "x", tokenizer=tokenizer, preprocessor=preprocessor
        )


def test_rows_of_text_have_no_fixed_number(classifier, tokenizer, tmp_path):
    with pytest.raises(ValueError, match="fixed for ids, not for text. .*batch_size=3"):
        export_tflite(classifier, tmp_path / "x", tokenizer=tokenizer, batch_size=3)
    with pytest.raises(ValueError, match="`batch_size` must be a positive integer"):
        export_tflite(classifier, tmp_path / "x", batch_size=0)


def test_only_one_row_a_text_goes_inside(backbone, tokenizer, tmp_path):
    for kind, options in (
        (AlbertTokenClassifier, {"num_classes": 2}),
        (AlbertMultipleChoice, {}),
        (AlbertQuestionAnswerer, {}),
        (AlbertMaskedLM, {}),
    ):
        rule = f"other heads take ids. Received: {kind.__name__} with tokenizer="
        model = kind(backbone, **options)
        with pytest.raises(ValueError, match=rule):
            export_tflite(model, tmp_path / "served", tokenizer=tokenizer)
    assert not list(tmp_path.iterdir())


def test_only_sentence_piece_goes_inside(classifier, tmp_path):
    with pytest.raises(ValueError, match="Received: tokenizer='vocabulary'"):
        export_tflite(classifier, tmp_path / "served", tokenizer="vocabulary")
