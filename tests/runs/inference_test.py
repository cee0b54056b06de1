"""Evaluation and prediction of runs from Python, those of version 1 too."""

import json
import shutil

import numpy as np
import pytest

import albert_keras as ak
from albert_keras.runs import (
    FinetuningRun,
    FinetuningRunConfig,
    evaluate_run,
    load_run,
    predict_with_run,
)
from albert_keras.runs.finetuning_config import RowOptions
from albert_keras.runs.inference import load_finetuned

TEXTS = ["text 3", "text 5", "another text"]


@pytest.fixture(scope="module")
def config(base, rows, tmp_path_factory):
    return FinetuningRunConfig(
        run=tmp_path_factory.mktemp("finetuned") / "rows",
        task="text-classification",
        train=rows,
        validation=rows,
        checkpoint=base,
        num_steps=2,
        batch_size=8,
        sequence_length=19,
        task_options={"long_texts": "tail"},
    )


@pytest.fixture(scope="module")
def scores(config):
    return FinetuningRun(config).fit()


@pytest.mark.slow
def test_a_run_scores_as_it_reported_on_a_table_of_other_columns(
    config, scores, rows, tmp_path
):
    table = rows.read_text().replace("text\tlabel", "review\tstars", 1)
    (tmp_path / "rows.tsv").write_text(table)
    reading = RowOptions(text_column="review", label_column="stars")
    evaluated = evaluate_run(
        config.run, tmp_path / "rows.tsv", reading=reading, report=tmp_path / "report"
    )
    assert evaluated["accuracy"] == scores["accuracy"]
    assert evaluated["num_examples"] == 40
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert report["scores"] == evaluated


@pytest.mark.slow
def test_predictions_of_texts_and_rows(config, scores, rows, tmp_path, capsys):
    capsys.readouterr()
    file = tmp_path / "out.jsonl"
    predicted = predict_with_run(config.run, TEXTS, output=file)
    assert [row["text"] for row in predicted] == TEXTS
    lines = file.read_text().splitlines()
    assert [json.loads(line) for line in lines] == predicted
    assert capsys.readouterr().err == ""
    run = load_run(config.run)
    assert run.predict(TEXTS) == predicted
    assert ak.AlbertTextClassifier.from_preset(config.run).labels == run.model.labels
    predict_with_run(config.run, [*TEXTS, "very long " * 50])
    assert "25.0% of the rows fill 19 tokens or were cut" in capsys.readouterr().err
    of_rows = predict_with_run(config.run, data=rows)
    np.testing.assert_allclose(of_rows[3]["logits"], predicted[0]["logits"], atol=1e-5)


@pytest.mark.slow
def test_a_pretraining_run_fills_masks(base, call, tmp_path):
    texts = ["a [MASK] walk", "the [MASK]"]
    predicted = predict_with_run(base, texts, output=tmp_path / "filled.csv")
    assert [len(row["masks"][0]) for row in predicted] == [5, 5]
    assert predicted[0]["label"] == predicted[0]["masks"][0][0]["token"]
    assert load_run(base).predict(texts) == predicted
    pretrainer = ak.AlbertPretrainer.from_preset(base)
    assert ak.tasks.fill_mask(pretrainer, texts)[1][0][0].token == predicted[1]["label"]
    lines = (tmp_path / "filled.csv").read_text().splitlines()
    assert lines[0] == '"text","label"'
    with pytest.raises(ValueError, match="must be one of `finetune`. Received: .*pret"):
        load_finetuned(base)


@pytest.mark.slow
def test_a_checkpoint_reads_files_as_they_are_described(base, tmp_path):
    model = tmp_path / "model"
    ak.AlbertTextClassifier.from_preset(base, num_classes=2).save_to_preset(str(model))
    table = tmp_path / "rows.csv"
    table.write_text("review,stars\ncafé,1\n", "cp1252")
    reading = RowOptions(text_column="review", encoding="cp1252")
    (row,) = predict_with_run(model, data=table, reading=reading)
    assert row["text"] == "café"
    with pytest.raises(ValueError, match="tables of texts. Received: text_column="):
        load_run(base, reading)
    task = load_run(base, RowOptions(encoding="cp1252")).task
    assert task.decoding.encoding == "cp1252"
    ak.AlbertBackbone.from_preset(base).save_to_preset(str(tmp_path / "backbone"))
    with pytest.raises(ValueError, match="must have a head to predict with"):
        load_run(tmp_path / "backbone")
    with pytest.raises(ValueError, match="must end in .jsonl.*out.xlsx"):
        predict_with_run(base, ["no mask, which is checked later"], output="out.xlsx")


def test_a_published_classifier_reads_pairs_from_tables(fixtures, tmp_path):
    """Hugging Face's files do not say whether a classifier is one of pairs."""
    folder, table = tmp_path / "model", tmp_path / "rows.csv"
    shutil.copytree(fixtures / "hf_shared" / "sequence_classification", folder)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *map(chr, range(0x4E00, 0x4E38))]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", "utf-8")
    pairs = [("一丁丂", "七丄"), ("丅", "丆万丈三")]
    expected = load_run(folder).predict(pairs)
    rows = [[*p, row["label"]] for p, row in zip(pairs, expected, strict=True)]
    content = "text,text_pair,label\n" + "".join(",".join(row) + "\n" for row in rows)
    table.write_text(content, "utf-8")
    assert predict_with_run(folder, data=table) == expected
    named = content.replace("text,text_pair", "sentence1,sentence2")
    table.write_text(named, "utf-8")
    reading = RowOptions(text_column="sentence1", pair_column="sentence2")
    scores = evaluate_run(folder, table, reading=reading)
    losses = [-np.log(row["probabilities"][row["label"]]) for row in expected]
    assert scores["loss"] == pytest.approx(np.mean(losses), rel=1e-5)


def test_a_chinese_tagger_tags_each_character_as_transformers(fixtures, tmp_path):
    """The tags are those of transformers 5.23, given the characters as words."""
    folder = tmp_path / "model"
    shutil.copytree(fixtures / "hf_shared" / "token_classification", folder)
    expected = {
        "王小明2023年在Apple公司": "4544214444440444",
        "（NY）工作3天，他说：“很重”！": "44444444444442444",
        "COVID-19北京 上海ok？。": "4444442444444124",
        "日本のカタカナ，在Apple的19": "44444444444404424",
    }
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    characters = sorted({*"".join(expected).lower().replace(" ", "")})
    # As many as the table has rows.
    pieces = [*special, *characters, *"①②③④"]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", "utf-8")
    rows = predict_with_run(folder, [*expected])
    assert [row["text"].replace(" ", "") for row in rows] == [
        text.replace(" ", "") for text in expected
    ]
    assert [row["tags"] for row in rows] == [[*tags] for tags in expected.values()]
