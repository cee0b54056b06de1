"""Distance and angle of each layer's input and output."""

import keras
import numpy as np
import pytest

from albert_keras.analysis import layer_similarity, plot_similarity
from albert_keras.models import AlbertBackbone
from albert_keras.text import Examples
from albert_keras.tokenizers.ragged import offsets_of
from tests.figure_checks import check_layout, texts_of
from tests.helpers import make_config, randomize


def make_examples(lengths):
    """Returns `Examples` of random tokens."""
    ids = np.random.default_rng(5).integers(0, 61, sum(lengths), "int32")
    arrays = {"token_ids": ids, "segment_ids": np.zeros_like(ids)}
    return Examples(offsets_of(lengths), arrays)


def test_real_tokens_count_once_each():
    keras.utils.set_random_seed(3)
    backbone = randomize(AlbertBackbone(**make_config().to_dict()))
    examples = make_examples((9, 3, 14))
    received = layer_similarity(backbone, examples, batch_size=2)
    distances, angles = [], []
    for row, length in enumerate(examples.lengths):
        outputs = backbone.with_outputs(hidden_states=True)(
            examples.padded([row], length)
        )
        states = np.stack([np.asarray(s)[0] for s in outputs["hidden_states"]])
        before, after = states[:-1], states[1:]
        distances.append(np.sqrt(((after - before) ** 2).sum(axis=-1)))
        norms = np.sqrt((before**2).sum(-1) * (after**2).sum(-1))
        angles.append(np.rad2deg(np.arccos((before * after).sum(-1) / norms)))
    # Each (num_layers, tokens of all texts).
    distances, angles = (np.concatenate(x, axis=1) for x in (distances, angles))
    assert received["num_tokens"] == 26
    assert received["l2_distance"] == pytest.approx(distances.mean(axis=1), abs=1e-4)
    assert received["angle"] == pytest.approx(angles.mean(axis=1), abs=1e-2)


def test_known_angles():
    """Without weights but for the embedding's projection, layers only normalize.

    The states are one vector a then, and after the first layer their normalization.
    """
    config = make_config(hidden_dim=4, num_heads=2, layer_norm_epsilon=1e-12)
    backbone = AlbertBackbone(**config.to_dict())
    backbone.set_weights([0 * weight for weight in backbone.get_weights()])
    for encoder in dict.fromkeys(backbone.encoders):
        for sub_layer in (encoder.attention, encoder.feed_forward):
            sub_layer.normalization.gamma.assign([1.0] * 4)
    # Of mean 1 and deviation 2: normalized it is (-1, -1, 1, 1).
    backbone.embedding.projection.bias.assign([-1.0, -1.0, 3.0, 3.0])
    received = layer_similarity(backbone, make_examples((5, 7)))
    # (0, 0, 2, 2) apart; and the cosine is 8 / (2 sqrt(20)).
    assert received["l2_distance"] == pytest.approx([8**0.5, 0, 0], abs=1e-6)
    assert received["angle"] == pytest.approx([26.565051, 0, 0], abs=1e-4)


def make_results(*names):
    models = [
        {
            "name": name,
            "is_random": place == len(names) - 1,
            "l2_distance": [9.5, 4.25, 6.0][: 3 - place % 2],
            "angle": [31.0, 12.5, 17.0][: 3 - place % 2],
            "num_tokens": 101,
        }
        for place, name in enumerate(names)
    ]
    return {"num_texts": 7, "models": models}


@pytest.mark.parametrize(
    "names", [["one"], ["runs/$a", "_hidden", "albert_nano_en", "random weights"]]
)
def test_plot_has_a_line_for_each_model(names, tmp_path):
    pytest.importorskip("matplotlib")
    figure = plot_similarity(make_results(*names), tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    check_layout(figure)
    assert "angle of a layer's input and output (degrees)" in texts_of(figure)
    (legend,) = figure.legends
    shown = [text.get_text().lstrip("\u200b") for text in legend.get_texts()]
    assert shown == names
    for axes in figure.axes:
        styles = [line.get_linestyle() for line in axes.lines]
        assert styles == [*"-" * (len(names) - 1), "--"]
        assert list(axes.lines[0].get_xdata()) == [1, 2, 3]
