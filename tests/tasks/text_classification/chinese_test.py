"""Chinese tasks: the layouts of their files."""

import json

from albert_keras.tasks import TASKS


def test_real_files(shared):
    folder = shared / "data" / "zh"
    rows = TASKS["chnsenticorp"].read(folder / "chnsenticorp" / "dev.tsv")
    assert (len(rows.texts), rows.labels.count("1")) == (1200, 593)
    rows = TASKS["thucnews-titles"].read(folder / "thucnews_titles" / "dev.txt")
    assert (len(rows.texts), len(set(rows.labels))) == (10_000, 10)
    assert rows.texts[0] == "体验2D巅峰 倚天屠龙记十大创新概览"


def test_clue_files_are_json_lines(tmp_path):
    path = tmp_path / "train.json"
    row = {"sentence1": "花呗", "sentence2": "借呗", "label": "0"}
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n")
    rows = TASKS["afqmc"].read(path)
    assert (rows.texts, rows.pairs, rows.labels) == (["花呗"], ["借呗"], ["0"])


def test_file_of_text_and_label(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text("text,label\n一条新闻,sports\n")
    assert TASKS["chinanews"].read(path).labels == ["sports"]
