"""Vectors of files: formats, resumption, exported models, bad input."""

import contextlib
import dataclasses
import json
import shutil

import numpy as np
import pytest

import albert_keras as ak
from albert_keras.runs import (
    FinetuningRun,
    FinetuningRunConfig,
    RowOptions,
    embed_file,
    export_run,
    inference,
)
from tests.helpers import max_difference
from tests.tasks.task_checks import LENGTH, make_backbone, make_tokenizer

TEXTS = ["A door.", "", "The storm came over the hills. " * 9, "boats", *"éab"]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(inference, "PART_TEXTS", 3)


@pytest.fixture(scope="module")
def embedder():
    preprocessor = ak.AlbertTextEmbedderPreprocessor(make_tokenizer(), LENGTH)
    return ak.AlbertTextEmbedder(make_backbone(), preprocessor).with_dimensions(21)


@pytest.fixture(scope="module")
def model(embedder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("embedder")
    embedder.save_to_preset(str(folder))
    return folder


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(TEXTS) + "\n", "utf-8")
    return file


def test_vectors_are_in_the_order_of_the_lines(model, embedder, source, tmp_path):
    results = embed_file(model, source, tmp_path / "v.npy", batch_size=2)
    vectors = np.load(tmp_path / "v.npy")
    assert (results["num_texts"], results["embedding_dim"]) == vectors.shape
    assert vectors.dtype == np.float32
    assert max_difference(vectors, embedder.encode_text(TEXTS)) < 1e-6
    assert {file.name for file in tmp_path.iterdir()} == {"texts.txt", "v.npy"}


def test_a_table_becomes_a_table(model, embedder, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = "".join(f'{n},"{text}"\n' for n, text in enumerate(TEXTS))
    (tmp_path / "texts.csv").write_text(f"id,said\n{rows}", "utf-8")
    reading = RowOptions(text_column="said")
    embed_file(model, tmp_path / "texts.csv", tmp_path / "v.parquet", reading=reading)
    table = parquet.read_table(tmp_path / "v.parquet")
    assert table["text"].to_pylist() == TEXTS
    expected = embedder.encode_text(TEXTS)
    assert max_difference(np.array(table["embedding"].to_pylist()), expected) < 1e-6


def test_an_interrupted_command_goes_on(model, source, tmp_path, monkeypatch):
    encode, calls = ak.AlbertTextEmbedder.encode_text, []

    def interrupted(self, texts, **options):
        calls.append(len(texts))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return encode(self, texts, **options)

    monkeypatch.setattr(ak.AlbertTextEmbedder, "encode_text", interrupted)
    with contextlib.suppress(KeyboardInterrupt):
        embed_file(model, source, tmp_path / "v.npy")
    assert calls == [1, 3, 3, 1]
    assert not (tmp_path / "v.npy").exists()
    embed_file(model, source, tmp_path / "v.npy")
    # The first text, which tells the model, and the part that is left.
    assert calls == [1, 3, 3, 1, 1, 1]
    embed_file(model, source, tmp_path / "whole.npy")
    assert np.array_equal(np.load(tmp_path / "v.npy"), np.load(tmp_path / "whole.npy"))


def test_other_texts_are_not_mixed_in(model, embedder, source, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(inference._WRITERS, ".npy", _fail)
        with pytest.raises(OSError, match="full"):
            embed_file(model, source, tmp_path / "v.npy")
    source.write_text("\n".join(reversed(TEXTS)), "utf-8")
    embed_file(model, source, tmp_path / "v.npy")
    expected = embedder.encode_text(TEXTS[::-1])
    assert max_difference(np.load(tmp_path / "v.npy"), expected) < 1e-6


def _fail(*arguments):
    raise OSError("full")


@pytest.fixture
def search_data(tmp_path):
    """A data set of search in the layout of BEIR."""
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    texts = {"queries": ["boats at sea", "a warm soup"], "corpus": TEXTS}
    for name, lines in texts.items():
        rows = (json.dumps({"_id": f"{n}", "text": t}) for n, t in enumerate(lines))
        (folder / f"{name}.jsonl").write_text("\n".join(rows), "utf-8")
    judged = "query-id\tcorpus-id\tscore\n0\t3\t1\n1\t0\t2\n1\t4\t1\n"
    (folder / "qrels" / "test.tsv").write_text(judged)
    return folder


@pytest.mark.parametrize(
    ("format", "inputs"), [("saved_model", "text"), ("tflite", "ids"), ("onnx", "ids")]
)
def test_an_exported_model_has_the_vectors_and_scores_of_the_run(
    format, inputs, model, embedder, source, search_data, tmp_path, call, fail
):
    pytest.importorskip("onnxruntime")
    exported = tmp_path / ("model.tflite" if format == "tflite" else "model")
    export_run(model, exported, format, inputs=inputs)
    embed_file(exported, source, tmp_path / "v.npy")
    expected = embedder.encode_text(TEXTS)
    assert max_difference(np.load(tmp_path / "v.npy"), expected) < 1e-5
    with pytest.raises(ValueError, match="exported model .*prompt_name='query'"):
        embed_file(exported, source, tmp_path / "v.npy", prompt_name="query")
    rows = "".join(f"{text} now\t{text}\t{n}\n" for n, text in enumerate(TEXTS) if text)
    (tmp_path / "pairs.tsv").write_text(f"text\ttext_pair\tlabel\n{rows}", "utf-8")
    for data, names in (
        (tmp_path / "pairs.tsv", {"score", "spearman", "num_examples"}),
        (search_data, {"score", "ndcg_at_10", "recall_at_100", "mrr_at_10"}),
    ):
        scores = call("evaluate", exported, "--data", data)
        assert names <= scores.keys()
        assert scores == pytest.approx(call("evaluate", model, "--data", data))
    assert "Use `embed`" in fail("predict", exported, "a text")


@pytest.mark.parametrize(
    ("folder", "name", "content", "output", "message"),
    [
        ("albert_nano_en", "a.txt", "a", "v.npy", "embedder.*'albert_nano_en'"),
        (None, "a.txt", "", "v.npy", "must be a text to embed"),
        (None, "a.txt", "a", "v.txt", ".npy, .parquet"),
        (None, "a.jsonl", '{"text": null}', "v.npy", "line 1, with text=None"),
    ],
)
def test_bad_input_is_refused(folder, name, content, output, message, model, tmp_path):
    source = tmp_path / name
    source.write_text(content)
    with pytest.raises(ValueError, match=message):
        embed_file(folder or model, source, tmp_path / output)
    assert [*tmp_path.iterdir()] == [source]


@pytest.mark.slow
def test_a_run_on_pairs_is_resumed_measured_and_embeds(model, tmp_path, source):
    words = ("baker", "storm", "door", "boats", "hills", "gulls", "lighthouse")
    pairs = [(f"the {word}", f"{word}, and only {word}") for word in words]
    rows = "".join(f"{a}\t{b}\t{n}\n" for n, (a, b) in enumerate(pairs))
    (tmp_path / "pairs.tsv").write_text(f"text\ttext_pair\tlabel\n{rows}", "utf-8")
    config = FinetuningRunConfig(
        run=str(tmp_path / "run"),
        task="embedding",
        task_options={"objective": "cosent", "least_dimensions": 8},
        train=str(tmp_path / "pairs.tsv"),
        validation=str(tmp_path / "pairs.tsv"),
        checkpoint=str(model),
        num_steps=2,
        batch_size=6,
        dropout=0.1,
        sequence_length=19,
        pad_to_maximum=True,
        steps_per_checkpoint=1,
    )
    results = FinetuningRun(config).fit()
    assert results["score"] == results["spearman"]
    folder = tmp_path / "run"
    evaluated = ak.runs.evaluate_run(folder, config.train, report=tmp_path / "report")
    assert evaluated["spearman"] == pytest.approx(results["spearman"])
    again = dataclasses.replace(config, run=str(tmp_path / "again"))
    shutil.copytree(folder, again.run)
    last = "checkpoints/step-00000002.npz"
    (tmp_path / "again" / last).unlink()
    assert FinetuningRun(again).fit() == {**results, "run": again.run}
    with np.load(folder / last) as one, np.load(tmp_path / "again" / last) as other:
        for name in set(one.files) - {"content"}:
            assert np.array_equal(one[name], other[name]), name
    embed_file(folder, source, tmp_path / "v.npy")
    vectors = ak.load_run(folder).encode(TEXTS)
    assert max_difference(np.load(tmp_path / "v.npy"), vectors) < 1e-6
    with pytest.raises(ValueError, match="Use `embed`"):
        ak.runs.predict_with_run(folder, TEXTS)
