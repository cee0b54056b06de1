"""Exported models: recognized, with files beside them, and answering like their run."""

import contextlib
import functools
import json
import tracemalloc
import zipfile

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_keras as ak
from albert_keras.export import (
    EXPORTERS,
    associated_files,
    export_onnx,
    export_saved_model,
    export_tflite,
    is_exported,
    load_exported,
)
from albert_keras.export.exported_model import load_beside
from albert_keras.models import (
    AlbertJointQuestionAnswerer,
    AlbertMultipleChoice,
    AlbertPretrainer,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from albert_keras.preprocessors import (
    AlbertJointQuestionAnswererPreprocessor,
    AlbertMultipleChoicePreprocessor,
    AlbertPretrainerPreprocessor,
    AlbertQuestionAnswererPreprocessor,
    AlbertTextClassifierPreprocessor,
    AlbertTokenClassifierPreprocessor,
)
from albert_keras.runs import evaluate_run, predict_with_run
from albert_keras.runs.inference import LoadedModel
from albert_keras.tasks import Recipe, TextClassificationTask
from albert_keras.tasks.masked_words import MaskedWordsTask
from albert_keras.tasks.prediction import task_of
from tests.export.text.conftest import (
    STRANGE,
    STRANGE_QUESTIONS,
    approximately,
    long_context,
)

WINDOWS = {"sequence_length": 19, "doc_stride": 5, "max_question_length": 6}
QUESTIONS = [("who counts?", long_context(31)), *STRANGE_QUESTIONS]


def answers_of(model, task, samples):
    return LoadedModel(task, model).predict(samples, 3)


@pytest.fixture(scope="module")
def tagger(backbone, tokenizer):
    keras.utils.set_random_seed(5)
    preprocessor = AlbertTokenClassifierPreprocessor(tokenizer, sequence_length=13)
    labels = ["O", "B-PER", "I-PER", "I-LOC"]
    return AlbertTokenClassifier(backbone, 4, preprocessor, labels=labels)


@pytest.fixture(params=["onnx", "saved_model", "tflite"])
def export_ids(request):
    """Function that exports a model of ids in a format."""
    if request.param == "onnx":
        pytest.importorskip("tf2onnx")
        return export_onnx
    if request.param == "tflite":
        pytest.importorskip("ai_edge_litert")
        return export_tflite
    return functools.partial(export_saved_model, tokenizer=None)


@pytest.mark.slow
def test_tags_are_those_of_the_model_and_evaluated(tagger, export_ids, tmp_path):
    samples = ["storms and the gulls " * 11, ["New York", "", "\0"], *STRANGE[2:]]
    export_ids(tagger, tmp_path / "model")
    expected = answers_of(tagger, task_of(tagger), samples)
    received = load_exported(tmp_path / "model").predict(samples, 3)
    assert received == approximately(expected)
    rows = tmp_path / "rows.txt"
    rows.write_text("The O\nbaker B-PER\n\nstorms O\n")
    prepared = task_of(tagger).prepare(task_of(tagger).read(rows))
    scores = task_of(tagger).evaluate(tagger, prepared, 3)
    assert evaluate_run(tmp_path / "model", rows) == approximately(scores)


@pytest.mark.slow
def test_choices_and_answers_are_those_of_the_model(
    backbone, tokenizer, export_ids, tmp_path
):
    choices = AlbertMultipleChoice(
        backbone, AlbertMultipleChoicePreprocessor(tokenizer, sequence_length=17)
    )
    joint = AlbertJointQuestionAnswerer(
        backbone, AlbertJointQuestionAnswererPreprocessor(tokenizer, **WINDOWS)
    )
    asked = [("the storms " * 9, "who _ it?", ["a b", "gulls", ""])]
    asked += [(text, text, [text, "a", "the gulls"]) for text in STRANGE]
    for number, (model, samples) in enumerate([(choices, asked), (joint, QUESTIONS)]):
        path = tmp_path / str(number)
        export_ids(model, path)
        expected = answers_of(model, task_of(model), samples)
        assert load_exported(path).predict(samples, 3) == approximately(expected)


@pytest.mark.slow
def test_tflite_fills_masks_and_answers_like_the_model(backbone, tokenizer, tmp_path):
    pytest.importorskip("ai_edge_litert")
    plain = AlbertQuestionAnswerer(
        backbone, AlbertQuestionAnswererPreprocessor(tokenizer, **WINDOWS)
    )
    # A processor may need rows of one length.
    export_tflite(plain, tmp_path / "squad", sequence_length=19)
    expected = answers_of(plain, task_of(plain), QUESTIONS)
    received = predict_with_run(tmp_path / "squad", QUESTIONS)
    assert received == approximately(expected)

    preprocessor = AlbertPretrainerPreprocessor(tokenizer)
    model = AlbertPretrainer(backbone, preprocessor=preprocessor)
    export_tflite(model, tmp_path / "masks")
    texts = ["the [MASK] counts [MASK]", *(f"{text[:9]} [MASK]" for text in STRANGE)]
    predictor = load_exported(tmp_path / "masks")
    expected = answers_of(model, MaskedWordsTask(tokenizer), texts)
    assert predictor.predict(texts, 3) == approximately(expected)
    with pytest.raises(ValueError, match="at most 19 tokens, .* Received: 43"):
        predictor.predict(["[MASK] " * 41])


@pytest.mark.slow
def test_windows_of_long_texts_are_averaged(backbone, tokenizer, export_ids, tmp_path):
    model = AlbertTextClassifier(backbone, 3, labels=["a", "b", "c"])
    task = TextClassificationTask(
        recipe=Recipe(sequence_length=7),
        long_texts="windows",
        labels=("a", "b", "c"),
        tokenizer=tokenizer,
    )
    export_ids(model, tmp_path / "model", task=task)
    texts = ["storms and the gulls " * 5, "", "the baker"]
    received = load_exported(tmp_path / "model").predict(texts)
    assert received == approximately(answers_of(model, task, texts))


@pytest.fixture
def model_of_text(tmp_path):
    """Function that loads a model of texts by what computes its outputs."""

    def load(call, inputs=("text",), labels="a\nb\nc"):
        if labels is not None:
            (tmp_path / "labels.txt").write_text(labels)
        inputs = dict.fromkeys(inputs)
        return load_beside(tmp_path, tmp_path, lambda x: call(*x.values()), inputs)

    return load


def test_samples_must_be_texts(model_of_text):
    predict = model_of_text(call=None).predict
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


def test_there_is_a_label_for_each_class(model_of_text):
    def call(texts):
        return {"probabilities": np.array([[0.1, 0.7, 0.2]] * len(texts))}

    outputs = model_of_text(call).predict(["x", "y"])
    assert outputs["label"].tolist() == ["b", "b"]
    with pytest.raises(ValueError, match="Received: 1 labels, 3 classes"):
        model_of_text(call, labels="a").predict(["x"])


def test_what_is_beside_a_model_is_checked(tokenizer, tmp_path):
    def load():
        return load_beside("a.onnx", tmp_path, None, {"token_ids": (None, None)})

    with pytest.raises(ValueError, match="path='a.onnx' with inputs token_ids. Export"):
        load()
    tokenizer.save_to_preset(str(tmp_path))
    file = tmp_path / "served_task.json"
    description = {"kind": "tagging", "labels": ["O"], "default": "O"}
    for ids, message in (
        ({"sequence_length": "19"}, "`sequence_length` must be .* Received: '19'"),
        ([], "`content` must be .* Received: "),
    ):
        file.write_text(json.dumps({**description, "ids": ids}))
        with pytest.raises(ValueError, match=message):
            load()


# === Files beside the graph of an exported model ===


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_labels_are_read_as_written(activation, backbone, tmp_path):
    model = AlbertTextClassifier(backbone, num_classes=3, activation=activation)
    labels = ["x", "", "göod"]
    assert associated_files.read_labels(tmp_path) == (None, False)
    associated_files.write_beside(tmp_path, model, labels)
    expected = labels, activation == "sigmoid"
    assert associated_files.read_labels(tmp_path) == expected


def test_a_preprocessor_comes_back(backbone, tokenizer, tmp_path):
    preprocessor = AlbertTextClassifierPreprocessor(tokenizer, sequence_length=13)
    assert associated_files.read_packing(tmp_path) is None
    associated_files.write_beside(tmp_path, backbone, None, None, preprocessor)
    assert associated_files.read_packing(tmp_path) == (13, False)
    file = tmp_path / associated_files.PREPROCESSOR_FILE
    other = {"registered_name": "keras_hub>AlbertMaskedLMPreprocessor"}
    file.write_text(json.dumps(other))
    assert associated_files.read_packing(tmp_path) is None


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
    check_is_refused(path, "10000000 bytes")
    write_zip(path, {LABELS: "0" * 10**7})
    check_is_refused(path, "10000000 bytes")
    content = bytearray(path.read_bytes())
    # The size in the directory at the end.
    entry = content.rindex(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (5).to_bytes(4, "little")
    path.write_bytes(content)
    check_is_refused(path, "Bad CRC-32")


def test_damaged_archives_are_refused(tmp_path):
    path = tmp_path / "m.tflite"
    write_zip(path, {LABELS: "a\nb"}, zipfile.ZIP_LZMA)
    check_is_refused(path, "not compressed by deflate")
    write_zip(path, {LABELS: "a\nb"}, zipfile.ZIP_STORED)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"a\nb", b"a\nc"))
    check_is_refused(path, "Bad CRC-32")
    for place in range(5000, len(content)):
        path.write_bytes(content[:place] + b"\xff" + content[place + 1 :])
        with contextlib.suppress(ValueError):
            associated_files.extract_files(path, tmp_path / "out")


def check_is_refused(path, message):
    tracemalloc.start()
    with pytest.raises(ValueError, match=f"must be whole.*{message}"):
        associated_files.extract_files(path, path.parent / "out")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


def test_labels_are_utf8(tmp_path):
    (tmp_path / LABELS).write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="must be UTF-8"):
        associated_files.read_labels(tmp_path)


# === Recognition of exported models; each format's own test checks its loading ===


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


def test_what_is_no_exported_model_is_one_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent.*does not exist"):
        ak.load_exported(tmp_path / "absent")
    with pytest.raises(ValueError, match="must be an exported model"):
        ak.load_exported(tmp_path)


@pytest.mark.parametrize("name", ["saved_model", "tflite"])
def test_nothing_is_left_of_an_interrupted_export(
    name, large_classifier, full_disk, tmp_path
):
    with full_disk(), pytest.raises((OSError, tf.errors.OpError)):
        EXPORTERS[name].write(large_classifier, tmp_path / "served")
    assert not list(tmp_path.iterdir())
