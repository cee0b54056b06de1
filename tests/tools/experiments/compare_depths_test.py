"""The tool that measures over depth how far a quantized file is from one in float32."""

import pytest

from albert_keras.converters import save_checkpoint
from albert_keras.models import AlbertBackbone, AlbertEarlyExitClassifier
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor
from albert_keras.tokenizers import load_tokenizer
from tools.experiments import compare_depths
from tools.experiments.compare_depths import compare, main

ROWS = "text,label\na charming journey,good\nbleak and desperate,bad\nthe sea,bad\n"


@pytest.mark.slow
def test_files_are_compared_at_every_depth(tmp_path, capsys, monkeypatch):
    # Depths and weights large enough for a difference.
    backbone = AlbertBackbone.from_config_preset(
        "albert_test", num_layers=4, vocabulary_size=8000, initializer_range=0.3
    )
    preprocessor = AlbertTextClassifierPreprocessor(
        load_tokenizer("albert_nano_en"), sequence_length=13
    )
    model = AlbertEarlyExitClassifier(backbone, 2, preprocessor, labels=["bad", "good"])
    save_checkpoint(model, tmp_path / "run")
    (tmp_path / "rows.csv").write_text(ROWS)
    results = compare(tmp_path / "run", tmp_path / "rows.csv")
    assert (results["metric"], results["num_rows"]) == ("accuracy", 3)
    assert [*results["depths"]] == ["1", "2", "3", "4"]
    for found in results["depths"].values():
        assert 0 < found["mean_difference"] < found["largest_difference"]

    monkeypatch.setattr(compare_depths, "compare", lambda *_: results)
    main([str(tmp_path / "run"), "--data", str(tmp_path / "rows.csv")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("accuracy, in float32")
    assert [line.split()[0] for line in lines[1:]] == ["1", "2", "3", "4"]
