"""Linear probes of every depth."""

import dataclasses

import numpy as np
import pytest

from albert_keras.analysis import plot_probe, probe_layers
from tests.analysis.small_models import make_examples
from tests.figure_checks import check_layout, texts_of


def make_rows(num_rows, seed):
    """Examples with a first token that is always the same, and a telling one or none."""
    lengths = [6 + row % 5 for row in range(num_rows)]
    examples = make_examples(lengths)
    ids = examples.token_arrays["token_ids"] % 40 + 10
    labels = np.random.default_rng(seed).integers(0, 3, num_rows)
    ids[examples.offsets[:-1]] = 2
    for place in (1, 3, 4):
        ids[examples.offsets[:-1] + place] = labels + 4
    arrays = {**examples.token_arrays, "token_ids": ids}
    names = [f"class {label}" for label in labels]
    return dataclasses.replace(examples, token_arrays=arrays), names


def test_a_telling_word_is_read_from_the_tokens_and_not_from_the_constant(backbone):
    train, train_labels = make_rows(80, seed=1)
    held_out, held_out_labels = make_rows(45, seed=2)
    results = probe_layers(
        backbone, train, train_labels, held_out, held_out_labels, batch_size=16
    )
    assert (results["num_train"], results["num_held_out"]) == (80, 45)
    assert len(results["pooled"]) == len(results["mean"]) == 4
    most_frequent = max(sorted(set(train_labels)), key=train_labels.count)
    share = held_out_labels.count(most_frequent) / 45
    assert results["majority_accuracy"] == share
    # The embedding of [CLS] knows nothing of the row.
    assert results["pooled"][0] == share
    assert results["mean"][0] > 0.9


def test_one_label_is_refused(backbone):
    train, _ = make_rows(7, seed=1)
    with pytest.raises(ValueError, match="two labels or more. Received: 7 rows of a"):
        probe_layers(backbone, train, ["a"] * 7, train, ["a"] * 7)


def test_layout(tmp_path):
    pytest.importorskip("matplotlib")
    results = {"pooled": [0.5, 0.7, 0.75], "mean": [0.66, 0.7, 0.81]}
    results |= {"majority_accuracy": 0.51, "num_train": 900, "num_held_out": 1_100}
    figure = plot_probe(results, tmp_path / "a.svg")
    check_layout(figure)
    assert "accuracy (1,100 held-out rows)" in texts_of(figure)
    (axes,) = figure.axes
    assert [len(line.get_xdata()) for line in axes.lines] == [3, 3, 2]
