"""IMDB in both of its layouts."""

from albert_keras.tasks import TASKS


def test_the_official_folders(tmp_path):
    task = TASKS["imdb"]
    for label, texts in (("neg", ["dull"]), ("pos", ["good", "fine"]), ("unsup", "?")):
        folder = tmp_path / task.files["train"] / label
        folder.mkdir(parents=True)
        for number, text in enumerate(texts):
            (folder / f"{number}_7.txt").write_text(text)
    rows = task.read(tmp_path / "train")
    assert rows.texts == ["dull", "good", "fine"]
    assert rows.labels == ["neg", "pos", "pos"]


def test_the_table(shared):
    rows = TASKS["imdb"].read(shared / "data" / "imdb" / "test.tsv")
    assert len(rows.texts) == 12_500
    assert rows.labels.count("1") == 6250
    assert TASKS["imdb"].recipe.steps_for(25_000)[0] == 3 * 25_000 // 32
