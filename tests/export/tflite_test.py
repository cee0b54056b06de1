"""TFLite files: fixed sizes, operations and errors."""

import zipfile

import keras_hub
import numpy as np
import pytest

from albert_keras import cli
from albert_keras.export import export_onnx, export_tflite, load_exported
from albert_keras.models import HEADS, AlbertTextClassifier
from tests.helpers import max_difference

interpreter = pytest.importorskip("ai_edge_litert.interpreter")


def operations(path):
    """Names of the operations in a TFLite file."""
    details = interpreter.Interpreter(str(path))._get_ops_details()
    return {operation["op_name"] for operation in details}


@pytest.fixture(scope="module")
def preprocessor(tokenizer):
    return keras_hub.models.TextClassifierPreprocessor(tokenizer, sequence_length=13)


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
    assert max_difference(actual["logits"], expected) <= 1e-4
    if "batch_size" in sizes:
        compiled = run_compiled(path, packer(texts[:4]))
        assert max_difference(compiled.reshape(4, 2), expected[:4]) <= 1e-4


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


def test_a_damaged_archive_is_one_line(backbone, preprocessor, tmp_path, capfd):
    path = tmp_path / "served.tflite"
    export_tflite(AlbertTextClassifier(backbone, 2, preprocessor=preprocessor), path)
    with zipfile.ZipFile(path) as archive:
        place = archive.getinfo("tokenizer.json").header_offset
    content = bytearray(path.read_bytes())
    # Within the compressed bytes, after the header and the name.
    content[place + 50 : place + 60] = bytes(10)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="must be whole.*served.tflite': "):
        load_exported(path)
    capfd.readouterr()
    assert cli.main(["predict", str(path), "a text"]) == 1
    errors = capfd.readouterr().err
    assert str(path) in errors
    assert errors.count("\n") == 1
    assert "Traceback" not in errors


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


def test_only_the_tokenizer_is_custom_and_nothing_is_random(
    classifier, tokenizer, tmp_path
):
    paths = [tmp_path / "first", tmp_path / "second"]
    for path in paths:
        export_tflite(classifier, path, "int8", tokenizer, labels=["a", "b", "c"])
    assert {name for name in operations(path) if not name.isupper()} == {
        "TFText>FastSentencepieceTokenize",
        "RaggedTensorToTensor",
    }
    first, second = (path.read_bytes() for path in paths)
    assert first == second


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"quantization": "int4"},
            "None, float16, int8. Received: quantization='int4'",
        ),
        ({"tokenizer": "vocabulary"}, "Received: tokenizer='vocabulary'"),
        ({"batch_size": 0}, "`batch_size` must be a positive integer"),
        ({"tokenizer": "own", "batch_size": 3}, "fixed for ids, not for text.*size=3"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options, message, classifier, tokenizer, tmp_path
):
    if options.get("tokenizer") == "own":
        options = {**options, "tokenizer": tokenizer}
    with pytest.raises(ValueError, match=message):
        export_tflite(classifier, tmp_path / "served", **options)


@pytest.mark.parametrize(
    "head", ["question_answering", "multiple_choice", "pretraining"]
)
def test_only_one_row_a_text_goes_inside(head, backbone, tokenizer, tmp_path):
    model = HEADS[head].model(backbone)
    rule = f"other heads take ids. Received: {type(model).__name__} with tokenizer="
    with pytest.raises(ValueError, match=rule):
        export_tflite(model, tmp_path / "served", tokenizer=tokenizer)
    assert not list(tmp_path.iterdir())
