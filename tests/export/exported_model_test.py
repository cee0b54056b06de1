"""Exported models: recognized, with files beside them, and answering like their run."""

import contextlib
import dataclasses
import tracemalloc
import zipfile

import numpy as np
import pytest

from albert_keras.export import associated_files
from albert_keras.export.exported_model import load_beside
from albert_keras.models import AlbertTextClassifier
from albert_keras.tasks import TextClassificationTask


def test_samples_must_be_texts(tmp_path):
    predict = load_beside(tmp_path, tmp_path, None, {"text": None}).predict
    with pytest.raises(TypeError, match="Received: samples='one text'"):
        predict("one text")
    for samples, message in (
        ([1, 2], "must have text, in a tuple or a dict. Received: 1"),
        ([b"bytes"], "Received: b'bytes'"),
        ([], r"Received: samples=\[\]"),
        (["a\ud83d"], "lone surrogates. Received: .*character 1 of"),
        ([("one", "two")], "takes single texts. Received: pairs"),
    ):
        with pytest.raises(ValueError, match=message):
            predict(samples)
    with pytest.raises(ValueError, match="`batch_size`.*Received: .*0"):
        predict(["a"], batch_size=0)


@pytest.mark.parametrize("file", ["labels.txt", "multi_labels.txt", "served_task.json"])
def test_there_is_a_label_for_each_class(file, classifier, tokenizer, tmp_path):
    name = "text"
    if file == associated_files.TASK_FILE:
        name = "token_ids"
        task = TextClassificationTask(labels=("a",), tokenizer=tokenizer)
        associated_files.write_beside(tmp_path, classifier.export_spec(), task)
    else:
        (tmp_path / file).write_text("a")
    outputs = {"probabilities": np.array([[0.1, 0.7, 0.2]])}
    run, inputs = (lambda features: outputs), {name: (None, None)}
    model = load_beside(tmp_path, tmp_path, run, inputs)
    with pytest.raises(ValueError, match="Received: 1 labels, 3 classes"):
        model.predict(["x"])


def test_ids_need_a_tokenizer_beside_the_model(tmp_path):
    with pytest.raises(ValueError, match="path='a.onnx' with inputs token_ids. Export"):
        load_beside("a.onnx", tmp_path, None, {"token_ids": (None, None)})


# === Files beside the graph of an exported model ===


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_labels_are_read_as_written(activation, backbone, tmp_path):
    model = AlbertTextClassifier(backbone, num_classes=3, activation=activation)
    labels = ["x", "", "göod"]
    assert associated_files.read_labels(tmp_path) == (None, False)
    spec = dataclasses.replace(model.export_spec(), labels=labels)
    associated_files.write_beside(tmp_path, spec)
    expected = labels, activation == "sigmoid"
    assert associated_files.read_labels(tmp_path) == expected


LABELS = associated_files.LABELS_FILE


def write_zip(path, members, method=zipfile.ZIP_DEFLATED):
    """Writes a file of 5,000 random bytes, as of a model, with members after it."""
    path.write_bytes(np.random.default_rng(3).bytes(5000))
    with zipfile.ZipFile(path, "a", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_only_known_names_are_extracted(tmp_path):
    members = {LABELS: "a\nb", "assets/tokenizer/vocabulary.spm": "pieces"}
    others = {"../out.txt": "1", "/abs.txt": "2", "a/b.txt": "3", "model.bin": "4"}
    write_zip(tmp_path / "m.tflite", members | others)
    folder = tmp_path / "extracted"
    associated_files.extract_files(tmp_path / "m.tflite", folder)
    found = [file for file in tmp_path.rglob("*") if file.is_file()]
    names = {file.relative_to(folder).as_posix() for file in found[1:]}
    assert (names, len(found)) == (members.keys(), 3)
    assert associated_files.read_labels(folder) == (["a", "b"], False)


def test_archives_that_claim_or_hold_too_much_are_refused(tmp_path):
    path = tmp_path / "m.tflite"
    write_zip(path, {"bomb": "0" * 10**7})
    check_is_refused(path, "10000000 bytes, more than")
    # `zipfile` decompresses it whole.
    write_zip(path, {LABELS: "a"}, zipfile.ZIP_LZMA)
    associated_files.extract_files(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    write_zip(path, {LABELS: "0" * 10**7})
    content = bytearray(path.read_bytes())
    # The size in the directory at the end.
    entry = content.rindex(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (5).to_bytes(4, "little")
    path.write_bytes(content)
    check_is_refused(path, "Bad CRC-32")


def test_damaged_archives_are_refused(tmp_path):
    path = tmp_path / "m.tflite"
    write_zip(path, {LABELS: "a\nb"}, zipfile.ZIP_STORED)
    content = path.read_bytes()
    for place in range(5000, len(content)):
        path.write_bytes(content[:place] + b"\xff" + content[place + 1 :])
        with contextlib.suppress(ValueError):
            associated_files.extract_files(path, tmp_path / "out")


def check_is_refused(path, message):
    tracemalloc.start()
    with pytest.raises(ValueError, match=f"must be whole.*m.tflite': {message}"):
        associated_files.extract_files(path, path.parent / "out")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000
