"""Tables of labelled texts in three formats, and the batches made of them."""

import itertools
import json

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.data import label_ids, labelled_dataset, read_labelled_texts

TEXTS = ['She said "no", twice', "a, b\tand c", "plain", "naïve 你好"]
LABELS = ["0", "1", "1", "2"]


def write(path, content):
    path.write_text(content, "utf-8")
    return path


def test_three_formats_hold_the_same_rows(tmp_path):
    texts = [text.replace("\t", " ") for text in TEXTS]
    rows = list(zip(texts, LABELS, strict=True))
    tsv = "text\tlabel\n" + "".join(f"{t}\t{label}\n" for t, label in rows)
    quoted = [(text.replace('"', '""'), label) for text, label in rows]
    csv = "id,text,label\n" + "".join(f'x,"{t}",{label}\n' for t, label in quoted)
    jsonl = "\n".join(json.dumps({"label": int(b), "text": t}) for t, b in rows)
    for name, content in (("a.tsv", tsv), ("a.csv", csv), ("a.jsonl", jsonl)):
        received = read_labelled_texts(write(tmp_path / name, content))
        assert received.texts == texts, name
        assert received.labels == LABELS, name


def test_columns_by_name(tmp_path):
    path = write(tmp_path / "a.csv", "stars,review,note\n5,good,x\n1,bad,y\n")
    rows = read_labelled_texts(path, text_column="review", label_column="stars")
    assert rows.texts == ["good", "bad"]
    assert rows.labels == ["5", "1"]


def test_pandas_index_column_has_no_name(tmp_path):
    rows = read_labelled_texts(write(tmp_path / "a.csv", ",text,label\n0,fine,1\n"))
    assert rows == (["fine"], ["1"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.xml",
            "",
            r"suffix must be one of \.tsv, \.csv, \.jsonl. Received: .*a\.xml",
        ),
        ("a.tsv", "", "must hold a row. Received: .*a.tsv', empty"),
        ("a.tsv", "review\tlabel\nfine\t1\n", "line 2: review, label"),
        ("a.tsv", "text\tlabel\nfine\n", "must have a `label`. Received: .*line 2"),
        ("a.tsv", "text\tlabel\nfine\t1\t2\n", "line 2, with more"),
        ("a.csv", ",text,label\n0,fine,1,2\n", "line 2, with more"),
        ("a.csv", 'text,label\n"fine,1\n', "must be a table. Received: .*a.csv"),
        ("a.jsonl", '{"text": "a"}', "line 1: text. Name yours"),
    ],
)
def test_bad_tables(tmp_path, name, content, message):
    path = write(tmp_path / name, content)
    with pytest.raises(ValueError, match=message):
        read_labelled_texts(path)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_labelled_texts(tmp_path / "absent.csv")


def test_label_ids_follow_the_names():
    ids = label_ids(["b", "a", "b"], ("c", "b", "a"))
    assert ids.tolist() == [1, 2, 1]
    assert ids.dtype == np.int32
    with pytest.raises(ValueError, match="one of a, b. Received: c, d."):
        label_ids(["d", "a", "c"], ("a", "b"))


def as_rows(dataset, num_batches):
    return [x.numpy().tolist() for x, _ in dataset.take(num_batches)]


def make(seed=None, start_step=0, batch_size=4):
    texts = [f"text {i}" for i in range(11)]
    labels = np.arange(11, dtype="int32")
    return labelled_dataset(
        texts, labels, tf.identity, batch_size, seed=seed, start_step=start_step
    )


def test_evaluation_is_one_pass_in_order():
    batches = [(x.numpy().tolist(), y.numpy().tolist()) for x, y in make()]
    assert [len(y) for _, y in batches] == [4, 4, 3]
    assert list(itertools.chain(*(y for _, y in batches))) == list(range(11))
    assert batches[2][0] == [b"text 8", b"text 9", b"text 10"]
    assert int(make().cardinality()) == 3


def test_training_sees_every_row_once_an_epoch_in_new_orders():
    rows = np.concatenate(as_rows(make(seed=5), 11))
    epochs = rows.reshape(4, 11).tolist()
    assert all(sorted(epoch) == sorted(epochs[0]) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 4


def test_texts_keep_their_labels():
    for x, y in make(seed=3).take(9):
        assert [f"text {i}".encode() for i in y.numpy()] == x.numpy().tolist()


@pytest.mark.parametrize("start_step", [1, 2, 3, 7])
def test_start_step_goes_on_exactly(start_step):
    tf.random.set_seed(start_step)
    whole = as_rows(make(seed=5), 12)
    assert (
        as_rows(make(seed=5, start_step=start_step), 5)
        == (whole[start_step : start_step + 5])
    )
    assert as_rows(make(seed=6), 12) != whole


def test_too_few_rows_for_a_batch():
    with pytest.raises(ValueError, match="11 rows, batch_size=12"):
        make(seed=0, batch_size=12)
