"""TFDS data sets as corpora and as labelled rows."""

import collections
import itertools
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.text.corpus import read_documents
from albert_keras.text.formats import Piece, ReadOptions, read_piece
from albert_keras.text.tfds import find_shards, read_tfds_examples
from tests.tfds_data_sets import build, prepare

tfds = pytest.importorskip("tensorflow_datasets")

# tensorflow-datasets 4.9 asks protobuf 7 for a field's label in a deprecated way.
pytestmark = pytest.mark.filterwarnings("ignore:label.. is deprecated")

TRAIN_SHARDS, TEST_SHARDS = (5, 3), (2,)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A prepared data set `tiny`, version 1.2.0."""
    features = {
        "text": tfds.features.Text(),
        "title": tfds.features.Text(),
        "number": np.int64,
        "more": {"text": tfds.features.Text()},
    }
    rows = (
        {
            "text": f"Text {number}. " * 20,
            "title": f"Titel é{number}",
            "number": number,
            "more": {"text": "other"},
        }
        for number in itertools.count()
    )
    splits = {
        split: [list(itertools.islice(rows, size)) for size in shards]
        for split, shards in (("train", TRAIN_SHARDS), ("test", TEST_SHARDS))
    }
    return prepare(tmp_path_factory.mktemp("tfds") / "tiny/1.2.0", features, splits)


def read(shards, text_column="title"):
    options = ReadOptions("strict", text_column, 2**21)
    return [
        document
        for path, start, stop, _ in shards
        for document in read_piece(
            Piece("tfds", path, start, stop), options, collections.Counter()
        )
    ]


@pytest.mark.parametrize(
    ("split", "numbers"),
    [
        ("", range(8)),
        (":train", range(8)),
        (":test", range(8, 10)),
        (":train[2:7]", range(2, 7)),
        (":train[50%:]+test[:1]", range(4, 9)),
    ],
)
def test_splits(folder, split, numbers):
    shards = find_shards(f"tfds:{folder}{split}", "title")
    assert read(shards) == [[f"Titel é{number}"] for number in numbers]
    assert {num_records for *_, num_records in shards} <= {5, 3, 2}


def test_same_texts_as_tensorflow_reads(folder, monkeypatch):
    monkeypatch.setenv("TFDS_DATA_DIR", str(folder.parents[1]))
    documents = read_documents("tfds:tiny:train")
    expected = tfds.as_numpy(tfds.builder_from_directory(folder).as_dataset("train"))
    texts = [row["text"].decode().strip() for row in expected]
    assert [" ".join(document) for document in documents] == texts


def test_finding_files_does_not_import_tensorflow(folder):
    code = (
        "import sys; from albert_keras.text.tfds import find_shards; "
        f"assert len(find_shards('tfds:{folder}:train', 'text')) == 2; "
        "assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_invalid_sources(folder):
    with pytest.raises(ValueError, match="tfds:NAME:SPLIT`.* Received: 'tfds:'"):
        find_shards("tfds:", "text")
    with pytest.raises(
        ValueError, match=r"one of train, test, .*: 'tfds:.*:dev\[:5\]'"
    ):
        find_shards(f"tfds:{folder}:dev[:5]", "text")
    with pytest.raises(ValueError, match=r"column `body` .*\['text', 'title'\]"):
        find_shards(f"tfds:{folder}:train", "body")


def test_examples_are_in_the_order_of_the_files(folder):
    numbers, rows = zip(*read_tfds_examples(f"tfds:{folder}"), strict=True)
    assert [*numbers] == [row["number"] for row in rows] == [*range(8)]


def test_examples_as_json_values(tmp_path):
    features = {
        "lists": tfds.features.Sequence(tfds.features.Sequence(tfds.features.Text())),
        "numbers": tfds.features.Sequence(tfds.features.Sequence(np.float32)),
        "tags": tfds.features.Sequence(tfds.features.ClassLabel(names=["O", "B"])),
        "answers": tfds.features.Sequence(
            {"text": tfds.features.Text(), "start": np.int32}
        ),
        "more": {"is_known": np.bool_, "kind": tfds.features.ClassLabel(num_classes=3)},
    }
    rows = [
        {
            "lists": [["é", ""], [], ["c"]],
            "numbers": [[0.1, 3.8], [-1.0, 2.0]],
            "tags": [1, 0, 1],
            "answers": {"text": ["é", "b"], "start": [3, -7]},
            "more": {"is_known": True, "kind": 2},
        },
        {
            "lists": [],
            "numbers": [[]],
            "tags": [],
            "answers": {"text": [], "start": []},
            "more": {"is_known": False, "kind": -1},
        },
    ]
    folder = prepare(tmp_path / "deep/1.0.0", features, {"train": [rows]})
    by_number = dict(read_tfds_examples(f"tfds:{folder}", label_is_index=True))
    kinds = [{"is_known": True, "kind": 2}, {"is_known": False, "kind": None}]
    assert by_number == {
        number: {**row, "more": kind}
        for number, (row, kind) in enumerate(zip(rows, kinds, strict=True))
    }
    assert [type(x) for x in by_number[0]["more"].values()] == [bool, int]
    (_, example), _ = read_tfds_examples(f"tfds:{folder}")
    assert (example["tags"], example["more"]["kind"]) == (["B", "O", "B"], "2")


def test_versions(tmp_path, monkeypatch):
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.txt").write_text(f"{name} NN O O\n")
    build("conll2003", tmp_path, tmp_path / "tfds")
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "tfds"))
    for name, word in ((":1.0.0", "train"), (":1.*.*:dev", "valid"), (":dev", "valid")):
        ((_, example),) = read_tfds_examples(f"tfds:conll2003{name}")
        assert example["tokens"] == [word]


@pytest.mark.parametrize("name", ["tiny_unknown", "wikipedia/20230601.en"])
def test_data_set_that_is_not_prepared(tmp_path, monkeypatch, name):
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    message = f"have been prepared. Received: 'tfds:{name}:train'.*`tfds build {name}`"
    with pytest.raises(ValueError, match=message):
        find_shards(f"tfds:{name}:train", "text")


def test_damaged_file_is_named(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "tiny/1.2.0")
    (path,) = copy.glob("*train*00000-of*")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(ValueError, match=r"must be whole. Received: '.*tiny-train"):
        read([(str(path), 0, 5, 5)])
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(b"text")
    with pytest.raises(ValueError, match=r"must be whole. Received: '.*tiny-train"):
        read([(str(path), 0, 1, 1)])
