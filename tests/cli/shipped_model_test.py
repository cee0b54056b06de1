"""Commands on a shipped model, by its name."""

import pytest

from albert_keras import sample
from albert_keras.presets.hub import known_names
from albert_keras.presets.shipped import SHIPPED_MODELS


@pytest.mark.skipif(not SHIPPED_MODELS, reason="the model is not pretrained yet")
@pytest.mark.slow
def test_finetune_from_a_name_and_convert_it(tmp_path, call):
    finetuned = call(
        *(
            "finetune",
            "--task",
            "text-classification",
            "--checkpoint",
            "albert_nano_en",
        ),
        *("--train", sample.REVIEWS_TRAIN, "--validation", sample.REVIEWS_TEST),
        *("--run", tmp_path / "run", "--sequence-length", 23, "--num-steps", 2),
    )
    assert finetuned["majority_accuracy"] == 0.5
    texts = ["The soup was warm.", "The film was long and dull.", "Fine."]
    predicted = call("predict", tmp_path / "run", *texts)["predictions"]
    assert {row["label"] for row in predicted} <= {"positive", "negative"}
    preset = tmp_path / "preset"
    converted = call(
        *("convert", "albert_nano_en", "--tokenizer", "albert_nano_en"),
        *("--output", preset),
    )
    assert converted["config"]["max_sequence_length"] == 128
    assert (preset / "assets" / "tokenizer" / "vocabulary.spm").is_file()


def test_unknown_name_is_refused_with_the_known_ones(tmp_path, fail):
    words = ["finetune", "--task", "sst-2", "--train", sample.REVIEWS_TRAIN]
    words += ["--text-column", "text", "--run", tmp_path / "run"]
    line = fail(*words, "--checkpoint", "albert_nano_zh")
    assert f"a name ({known_names()}). Received: 'albert_nano_zh'" in line
