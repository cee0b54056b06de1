"""Every format: ids without this package, texts, sizes, errors, recognition."""

import contextlib
import json
import pathlib
import subprocess
import sys

import keras_hub
import numpy as np
import pytest
import tensorflow as tf

import albert_keras as ak
from albert_keras.converters import change_architecture
from albert_keras.export import EXPORTERS, is_exported
from albert_keras.models import HEADS, AlbertTextClassifier
from albert_keras.tokenizers.sentence_piece_model import ends_with_digit_comma
from tests.converters.saving_test import make_model
from tests.helpers import max_difference
from tools.verify_conversion import random_inputs

ROOT = pathlib.Path(__file__).resolve().parents[2]
LABELS = ["bad", "so-so", "göod"]
# Extra packages of formats.
NEEDS = {"tflite": "ai_edge_litert", "onnx": "tf2onnx"}

# Programs without this package: what they lack, and how they load a function of ids.
PROGRAMS = {
    "saved_model": """
sys.modules["tensorflow_text"] = sys.modules["keras_hub"] = None
import tensorflow as tf
def load(path):
    serve = loaded[path] = tf.saved_model.load(path).signatures["serving_default"]
    return lambda ids: serve(**{name: tf.constant(x) for name, x in ids.items()})
""",
    # A phone.
    "tflite": """
sys.modules["tensorflow"] = sys.modules["keras"] = None
from ai_edge_litert.interpreter import Interpreter
def load(path):
    interpreter = loaded[path] = Interpreter(path)
    interpreter.allocate_tensors()
    serve = interpreter.get_signature_runner("serving_default")
    return lambda ids: serve(**ids)
""",
    "onnx": """
sys.modules["tensorflow"] = sys.modules["keras"] = None
import onnxruntime
def load(path):
    session = onnxruntime.InferenceSession(f"{path}/model.onnx")
    names = [output.name for output in session.get_outputs()]
    return lambda ids: dict(zip(names, session.run(names, ids)))
""",
}
RUN_IDS = """
import sys
import numpy as np
loaded = {}
%s
for path in sys.argv[1:]:
    serve = load(path)
    for number in range(2):
        outputs = serve(dict(np.load(f"{path}.{number}.npz")))
        arrays = {name: np.asarray(value) for name, value in outputs.items()}
        np.savez(f"{path}.outputs_{number}.npz", **arrays)
"""
RUN_TEXTS = """
import json, sys
import numpy as np
from albert_keras.export import load_exported
for path in sys.argv[2:]:
    texts, exported = json.loads(sys.argv[1]), load_exported(path)
    outputs = exported.predict(texts, batch_size=4)
    outputs["of_pairs"] = exported.predict([*zip(texts, texts[::-1])])["logits"]
    np.savez(f"{path}.npz", **outputs)
"""


def run_fresh(script, *arguments):
    """Runs Python code in a new process."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-5000:]


def assert_serves(model, features, outputs, bound=1e-5):
    """Asserts that outputs, with what exports add, are those of a Keras model."""
    expected = model(features)
    if not isinstance(expected, dict):
        expected = {model.export_spec().output_name: expected}
    assert {*outputs} - {"probabilities", "score", "exit_depth"} == expected.keys()
    for name, value in expected.items():
        assert max_difference(outputs[name], value) <= bound, (type(model), name)


@contextlib.contextmanager
def full_disk():
    """Context in which every write beyond 50 kB of a file fails."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_head_runs_without_this_package_at_any_batch_and_length(name, tmp_path):
    pytest.importorskip(NEEDS.get(name, "tensorflow"))
    models = {
        head or "backbone": make_model(head, num_layers=1 + (head == "early_exit"))
        for head in (None, *HEADS)
    }
    plain = models["sequence_classification"]
    models["blocks"] = change_architecture(plain, attention="block", block_size=3)
    inputs = {}
    for head, model in list(models.items()):
        EXPORTERS[name].write(model, tmp_path / head)
        # Of a joint question answerer, the search.
        models[head] = predictor = model.export_spec().predictor()
        batches = [random_inputs(model, seed=3), random_inputs(model, seed=5)]
        inputs[head] = [{n: x[n] for n in predictor.input} for x in batches]
        # Another batch, and shorter rows but for places in them.
        for key, value in inputs[head][1].items():
            cut = value[:1] if key.endswith("_positions") else value[:1, ..., :7]
            inputs[head][1][key] = np.minimum(cut, 6) if cut is not value else cut
        # Another number of places.
        if "mask_positions" in inputs[head][1]:
            inputs[head][1]["mask_positions"] = np.array([[3, 0, 5]], "int32")
        for number, features in enumerate(inputs[head]):
            np.savez(tmp_path / f"{head}.{number}.npz", **features)

    run_fresh(RUN_IDS % PROGRAMS[name], *(tmp_path / head for head in models))

    for head, model in models.items():
        for number, features in enumerate(inputs[head]):
            found = np.load(tmp_path / f"{head}.outputs_{number}.npz")
            assert_serves(model, features, found, 1e-4 if name == "tflite" else 1e-5)


@pytest.mark.slow
def test_texts_and_pairs_are_classified_from_the_files_alone(
    classifier, tokenizer, texts, tmp_path
):
    preprocessor = keras_hub.models.TextClassifierPreprocessor(
        tokenizer, sequence_length=13
    )
    assert any(map(ends_with_digit_comma, tokenizer.get_vocabulary()))
    model = AlbertTextClassifier(classifier.backbone, 3, preprocessor, labels=LABELS)
    # The tokenizer is in the graph, or beside it. Logits are of order 1.
    exports = [
        ("saved_model", {}, 1e-5),
        ("saved_model", {"tokenizer": None}, 1e-5),
        ("tflite", {"tokenizer": tokenizer}, 1e-4),
        ("tflite", {"quantization": "float16"}, 5e-3),
        ("tflite", {"quantization": "int8"}, 0.05),
        ("onnx", {}, 1e-5),
    ]
    paths = [tmp_path / str(number) for number in range(len(exports))]
    for path, (name, options, _) in zip(paths, exports, strict=True):
        pytest.importorskip(NEEDS.get(name, "tensorflow"))
        EXPORTERS[name].write(model, path, **options)
    run_fresh(RUN_TEXTS, json.dumps(texts), *paths)
    expected = np.asarray(model(preprocessor(texts)))
    of_pairs = np.asarray(model(preprocessor(x=(texts, texts[::-1]))))
    labels = [LABELS[index] for index in expected.argmax(axis=-1)]
    best_two = np.sort(expected, axis=-1)[:, -2:]
    for path, (*_, bound) in zip(paths, exports, strict=True):
        found = np.load(f"{path}.npz")
        assert max_difference(found["logits"], expected) <= bound, path
        assert max_difference(found["of_pairs"], of_pairs) <= bound, path
        clear = np.diff(best_two)[:, 0] > 2 * bound
        assert clear.any()
        assert (found["label"] == labels)[clear].all(), path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "least", "most"),
    [
        ("saved_model", {}, 4, 4.2),
        ("saved_model", {"tokenizer": "own"}, 4, 4.4),
        ("onnx", {}, 4, 4.2),
        ("tflite", {}, 4, 4.1),
        ("tflite", {"quantization": "float16"}, 2, 2.1),
        ("tflite", {"quantization": "int8"}, 1, 1.1),
    ],
)
def test_weights_are_stored_once(
    name, options, least, most, large_classifier, tokenizer, tmp_path
):
    pytest.importorskip(NEEDS.get(name, "tensorflow"))
    if "tokenizer" in options:
        options = {"tokenizer": tokenizer}
    exported = EXPORTERS[name].write(large_classifier, tmp_path / "served", **options)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert exported.num_bytes == sum(file.stat().st_size for file in files)
    assert least <= exported.num_bytes / large_classifier.count_params() <= most


@pytest.mark.parametrize("name", EXPORTERS)
def test_other_files_are_not_replaced(name, backbone, tmp_path):
    path = tmp_path / "model" / "1"
    path.mkdir(parents=True)
    (path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=f"{path}', (which is a file|a folder)"):
        EXPORTERS[name].write(backbone, path)
    assert (path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["saved_model", "tflite"])
def test_nothing_is_left_of_an_interrupted_export(name, large_classifier, tmp_path):
    with full_disk(), pytest.raises((OSError, tf.errors.OpError)):
        EXPORTERS[name].write(large_classifier, tmp_path / "served")
    assert not list(tmp_path.iterdir())


# === Recognition of exported models ===


def test_files_and_saved_models_are_not_runs(tmp_path):
    file, folder = tmp_path / "a.tflite", tmp_path / "run"
    file.write_bytes(b"x")
    folder.mkdir()
    assert is_exported(file)
    assert not is_exported(folder)
    assert not is_exported(tmp_path / "absent")
    (folder / "saved_model.pb").write_bytes(b"x")
    assert is_exported(folder)


@pytest.mark.parametrize(
    "content", [b"", b"\x08\x07\x12\x07pytorch", b"not a model", b"TFL3"]
)
def test_unknown_content_is_one_error(content, tmp_path):
    # The suffix does not count.
    file = tmp_path / "a.tflite"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"SavedModel.*TFLite file.*a.tflite"):
        ak.load_exported(file)


def test_other_paths_are_one_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="model '.*absent' does not exist"):
        ak.load_exported(tmp_path / "absent")
    with pytest.raises(ValueError, match="must be an exported model"):
        ak.load_exported(tmp_path)
