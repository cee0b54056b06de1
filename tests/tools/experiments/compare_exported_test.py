"""The tool that measures how far an exported classifier is from its run."""

import numpy as np
import pytest

from albert_keras.converters import save_checkpoint
from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor
from albert_keras.tokenizers import load_tokenizer
from tools.experiments.compare_exported import main

TEXTS = ["a charming journey", "bleak and desperate", "the sea"]


@pytest.mark.slow
def test_differences_of_another_head_are_counted(tmp_path, capsys):
    backbone = AlbertBackbone.from_config_preset(
        "albert_test", vocabulary_size=8000, initializer_range=0.3
    )
    preprocessor = AlbertTextClassifierPreprocessor(
        load_tokenizer("albert_nano_en"), sequence_length=13
    )
    model = AlbertTextClassifier(backbone, 2, preprocessor, labels=["bad", "good"])
    save_checkpoint(model, tmp_path / "run")
    logits = model.predict(TEXTS, verbose=0)
    # Logits of the opposite sign.
    model.output_dense.set_weights([-w for w in model.output_dense.get_weights()])
    # A preset in place of an exported model, which takes long to write.
    save_checkpoint(model, tmp_path / "other")
    (tmp_path / "rows.csv").write_text("\n".join(["text", *TEXTS]))
    paths = [str(tmp_path / name) for name in ("run", "other", "rows.csv")]
    main([*paths[:2], "--data", paths[2]])
    printed = capsys.readouterr().out
    assert printed.startswith("3 texts: ")
    assert printed.endswith("; 3 labels changed\n")
    difference = float(printed.split(" is ")[1].split(";")[0])
    assert difference == pytest.approx(2 * np.abs(logits).max(), rel=0.01)
