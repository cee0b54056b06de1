"""TFDS data sets as corpora, read from the files they keep, without TensorFlow."""

import collections
import itertools
import subprocess
import sys

import numpy as np
import pytest

from albert_keras.data.formats import Piece, ReadOptions, read_piece
from albert_keras.data.tfds import example_bytes, find_shards

tfds = pytest.importorskip("tensorflow_datasets")

# tensorflow-datasets 4.9 asks protobuf 7 for a field's label in a deprecated way.
pytestmark = pytest.mark.filterwarnings("ignore:label.. is deprecated")

TRAIN_SHARDS, TEST_SHARDS = (5, 3), (2,)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A prepared data set `tiny`, version 1.2.0, as `tfds build` leaves it."""
    import tensorflow as tf

    folder = tmp_path_factory.mktemp("tfds") / "tiny" / "1.2.0"
    folder.mkdir(parents=True)
    features = tfds.features.FeaturesDict(
        {
            "text": tfds.features.Text(),
            "title": tfds.features.Text(),
            "number": np.int64,
            "more": {"text": tfds.features.Text()},
        }
    )
    numbers, splits = itertools.count(), []
    for split, shards in (("train", TRAIN_SHARDS), ("test", TEST_SHARDS)):
        for index, size in enumerate(shards):
            name = f"tiny-{split}.tfrecord-{index:05}-of-{len(shards):05}"
            with tf.io.TFRecordWriter(str(folder / name)) as writer:
                for number in itertools.islice(numbers, size):
                    row = {"text": f"Text {number}. " * 20, "title": f"Titel é{number}"}
                    row |= {"number": number, "more": {"text": "other"}}
                    writer.write(features.serialize_example(row))
        splits.append(
            tfds.core.SplitInfo(name=split, shard_lengths=list(shards), num_bytes=0)
        )
    tfds.folder_dataset.write_metadata(
        data_dir=str(folder),
        features=features,
        split_infos=splits,
        filename_template="{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
    )
    return folder


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
    shards = find_shards("tfds:tiny:train", "text")
    expected = tfds.as_numpy(tfds.builder_from_directory(folder).as_dataset("train"))
    texts = [row["text"].decode().strip() for row in expected]
    assert [" ".join(document) for document in read(shards, "text")] == texts


def test_no_tensorflow_is_imported(folder):
    code = (
        "import sys; from albert_keras.data.tfds import find_shards; "
        f"assert len(find_shards('tfds:{folder}:train', 'text')) == 2; "
        "assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_bad_sources(folder):
    with pytest.raises(ValueError, match="tfds:NAME:SPLIT`.* Received: 'tfds:'"):
        find_shards("tfds:", "text")
    with pytest.raises(
        ValueError, match=r"one of train, test, .*: 'tfds:.*:dev\[:5\]'"
    ):
        find_shards(f"tfds:{folder}:dev[:5]", "text")
    with pytest.raises(ValueError, match=r"feature `body` .*\['text', 'title'\]"):
        find_shards(f"tfds:{folder}:train", "body")


@pytest.mark.parametrize("name", ["tiny_unknown", "wikipedia/20230601.en"])
def test_data_sets_that_are_not_there(tmp_path, monkeypatch, name):
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    message = f"have been prepared. Received: 'tfds:{name}:train'.*`tfds build {name}`"
    with pytest.raises(ValueError, match=message):
        find_shards(f"tfds:{name}:train", "text")


def test_a_broken_file_is_named(folder, tmp_path):
    path = tmp_path / "tiny-train.tfrecord-00000-of-00001"
    shard = next(folder.glob("*train*00000-of*"))
    path.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"must be whole. Received: '.*tiny-train"):
        read([(path, 0, 5, 5)])


def test_bytes_of_an_example():
    import tensorflow as tf

    def feature(*values):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))

    numbers = tf.train.Feature(int64_list=tf.train.Int64List(value=[3, 300]))
    features = {"a": feature(b"x" * 300), "b": feature(), "ä": feature(b"y", b"z")}
    example = tf.train.Example(features=tf.train.Features(feature=features))
    example.features.feature["n"].CopyFrom(numbers)
    record = example.SerializeToString()
    found = [example_bytes(record, name, "here") for name in ("a", "b", "ä", "absent")]
    assert found == [b"x" * 300, b"", b"y", b""]
    for broken in (record[:-1], b"\x80", b"text"):
        with pytest.raises(ValueError, match="tf.train.Example`. Received: record 7"):
            example_bytes(broken, "absent", "record 7")
