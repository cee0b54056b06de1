"""Preparation and training where text and data are in an object store."""

import json

import numpy as np
import pytest

from albert_keras import sample
from albert_keras.cli import main
from albert_keras.pretraining import (
    PretrainingDataConfig,
    prepare_pretraining_data,
    pretraining_dataset,
)
from albert_keras.pretraining import workers as worker_pool
from albert_keras.system.storage import find_addresses, to_path
from albert_keras.tokenizers import load_tokenizer
from tests.s3_server import serving_s3

LENGTH = 31


@pytest.fixture
def bucket(monkeypatch):
    pytest.importorskip("s3fs")
    with serving_s3("bucket"):
        # Forked ones would not see the environment.
        monkeypatch.setattr(worker_pool, "START_METHOD", "spawn")
        yield "s3://bucket"


@pytest.mark.slow
def test_data_are_prepared_and_read_as_on_a_disk(bucket, vocabulary, tmp_path):
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")[:73]
    lines = [json.dumps({"text": document}) + "\n" for document in documents[37:]]
    texts = {"a.txt": "\n\n".join(documents[:37]), "b.jsonl": "".join(lines)}
    for root in (tmp_path, to_path(bucket)):
        (root / "texts").mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (root / "texts" / name).write_text(text)

    def interrupt(stage, done, total):
        if (stage, done) == ("examples", total):
            raise KeyboardInterrupt

    config = PretrainingDataConfig(sequence_length=LENGTH, dupe_factor=1, num_shards=2)
    with pytest.raises(KeyboardInterrupt):
        prepare_pretraining_data(
            f"{bucket}/texts/*",
            load_tokenizer(vocabulary),
            f"{bucket}/data",
            config,
            validation_split=None,
            progress=interrupt,
            format="tfrecord",
        )
    # What is there is whole: the held-out documents, and unfinished work.
    assert not to_path(f"{bucket}/data/dataset.json").exists()
    for root, workers in ((tmp_path, 1), (bucket, 2)):
        prepare(f"{root}/texts", f"{root}/data", vocabulary, workers)
    local = sorted(path for path in (tmp_path / "data").rglob("*") if path.is_file())
    names = [str(path.relative_to(tmp_path)) for path in local]
    assert [name for name, _ in find_addresses(f"{bucket}/data")] == [
        f"{bucket}/{name}" for name in names
    ]
    for name in names:
        found = (to_path(bucket) / name).read_bytes()
        # `dataset.json` has the paths of the texts.
        found = found.replace(bucket.encode(), str(tmp_path).encode())
        assert found == (tmp_path / name).read_bytes()
    batches = [
        next(iter(pretraining_dataset(f"{root}/data", 7, seed=5)))[0]["token_ids"]
        for root in (tmp_path, bucket)
    ]
    np.testing.assert_array_equal(*batches)
    run = tmp_path / "run"
    train(f"{bucket}/data", vocabulary, run)
    # Of the held-out documents.
    assert '"mlm_loss"' in (run / "report.json").read_text("utf-8")


def prepare(texts, output, vocabulary, workers):
    options = ["--sequence-length", LENGTH, "--format", "tfrecord", "--num-shards", 2]
    options += ["--dupe-factor", 1]
    options += ["--tokenizer", vocabulary, "--workers", workers, "--output", output]
    assert main(["prepare-data", texts, *map(str, options)]) == 0


def train(data, vocabulary, run):
    options = ["--preset", "albert_test", "--max-sequence-length", LENGTH]
    options += ["--num-steps", 1, "--batch-size", 3, "--tokenizer", vocabulary]
    options += ["--data", data, "--run", run]
    assert main(["pretrain", *map(str, options)]) == 0
