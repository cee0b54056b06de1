"""Exported models of pairs of texts: they take pairs in every format."""

import numpy as np
import pytest

from albert_keras.export import export_saved_model, export_tflite, load_exported
from albert_keras.models import AlbertTextClassifier
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor
from albert_keras.runs import evaluate_run, predict_with_run
from albert_keras.runs.finetuning_config import RowOptions
from tests.helpers import max_difference

PAIRS = [
    ("is the soup warm", "it was very warm and good and we ate all of it"),
    ("was the film long and slow and dull and sad", "it was"),
    ("1,000 films", ""),
]
LABELS = ["no", "yes"]


@pytest.fixture(scope="module")
def model(backbone, tokenizer):
    preprocessor = AlbertTextClassifierPreprocessor(
        tokenizer, sequence_length=17, takes_pairs=True
    )
    return AlbertTextClassifier(backbone, num_classes=2, preprocessor=preprocessor)


@pytest.fixture(scope="module")
def exported(model, tokenizer, tmp_path_factory):
    """Files of each format, of TFLite with the tokenizer in the graph and beside it."""
    folder = tmp_path_factory.mktemp("exported")
    paths = [
        folder / name for name in ("saved_model", "inside.tflite", "beside.tflite")
    ]
    export_saved_model(model, paths[0], labels=LABELS)
    export_tflite(model, paths[1], tokenizer=tokenizer, labels=LABELS)
    export_tflite(model, paths[2], labels=LABELS)
    return paths


@pytest.mark.slow
def test_pairs_predict_as_by_the_model(model, exported):
    texts, others = map(list, zip(*PAIRS, strict=True))
    expected = model.predict((texts, others), verbose=0)
    for path in exported:
        predictor = load_exported(path)
        assert [*predictor.task.labels] == LABELS
        outputs = predictor.predict(PAIRS, batch_size=2)
        assert max_difference(outputs["logits"], expected) < 1e-5, path
        with pytest.raises(
            ValueError, match="must have text and text_pair, in a tuple"
        ):
            predictor.predict([("alone",)])


@pytest.mark.slow
def test_commands_take_pairs(exported, tmp_path):
    rows = tmp_path / "rows.tsv"
    lines = [["text", "other", "label"], *([*pair, "yes"] for pair in PAIRS[:2])]
    rows.write_text("\n".join("\t".join(cells) for cells in lines))
    reading = RowOptions(pair_column="other")
    for path in exported:
        (row,) = predict_with_run(path, PAIRS[0])
        assert (row["text"], row["text_pair"]) == PAIRS[0]
        expected = load_exported(path).predict(PAIRS)
        assert row["logits"] == pytest.approx(expected["logits"][0].tolist(), abs=1e-5)
        scores = evaluate_run(path, rows, reading=reading)
        assert scores["accuracy"] == np.mean(expected["label"][:2] == "yes")
    # Of the last alone: a SavedModel runs in a process of its own.
    with pytest.raises(ValueError, match="must have text and .* Received: "):
        predict_with_run(path, ["one", "two", "three"])
    with pytest.raises(ValueError, match="`text_pair`.*has text, other, label"):
        evaluate_run(path, rows)
