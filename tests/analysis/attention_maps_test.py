"""Attention of a sentence or a pair, and its picture."""

import math
import types

import numpy as np
import pytest

from albert_keras.analysis import attention_maps, plot_attention
from albert_keras.text import Examples
from tests.analysis.small_models import make_examples
from tests.figure_checks import check_layout, texts_of

TOKENIZER = types.SimpleNamespace(id_to_token="t{}".format)


def test_maps_are_in_the_layout_of_bertviz(backbone):
    examples = make_examples((7,))
    ids = examples.token_arrays["token_ids"]
    maps = attention_maps(backbone, TOKENIZER, examples)
    assert maps.tokens == [f"t{index}" for index in ids]
    assert maps.sentence_b_start is None
    assert [scores.shape for scores in maps.attention] == [(1, 4, 7, 7)] * 3
    # The first layer's, from its weights.
    embedded, _ = backbone.embed(examples.padded([0], 7))
    layer = backbone.encoders[0].attention
    query, key = (
        np.reshape(np.asarray(dense(embedded))[0], (7, 4, 7))
        for dense in (layer.query, layer.key)
    )
    scores = np.exp(np.einsum("qhd,khd->hqk", query, key) / math.sqrt(7))
    expected = scores / scores.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(maps.attention[0][0], expected, atol=1e-5)
    shares = expected * np.log2(expected)
    bits = maps.to_dict()["entropy_bits"]
    assert bits[0] == pytest.approx(-shares.sum(axis=-1).mean(axis=-1), abs=1e-4)


def test_start_of_a_second_text_and_known_entropies(backbone):
    ids = np.full(8, 5, np.int32)
    segments = np.int32([0, 0, 0, 0, 0, 1, 1, 1])
    arrays = {"token_ids": ids, "segment_ids": segments}
    maps = attention_maps(backbone, TOKENIZER, Examples(np.array([0, 8]), arrays))
    assert maps.sentence_b_start == 5
    # Even shares, and each token to itself.
    known = np.stack([np.full((8, 8), 1 / 8), np.eye(8)])
    assert maps._replace(attention=[known[None]]).entropies().tolist() == [[3.0, 0.0]]


def make_results(num_layers, num_heads, tokens):
    random = np.random.default_rng(3)
    shape = (1, num_heads, len(tokens), len(tokens))
    maps = [random.dirichlet(np.ones(shape[-1]), shape[:-1]) for _ in range(num_layers)]
    return {"tokens": tokens, "attention": [scores.tolist() for scores in maps]}


WORDS = ["[CLS]", "▁$it", "▁rained", "_s", "."]


@pytest.mark.parametrize(
    ("num_layers", "num_heads", "tokens", "head", "panels"),
    [(2, 3, WORDS, None, 6), (5, 2, WORDS, 2, 5), (1, 1, ["▁word"] * 80, None, 1)],
)
def test_layout(num_layers, num_heads, tokens, head, panels, tmp_path):
    pytest.importorskip("matplotlib")
    results = make_results(num_layers, num_heads, tokens)
    figure = plot_attention(results, tmp_path / "a.png", head)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    check_layout(figure)
    maps = [axes for axes in figure.axes if axes.images]
    assert len(maps) == panels
    texts = texts_of(figure)
    assert {f"layer {num_layers}, head {head or num_heads}", "to this token"} <= texts
    assert set(WORDS) <= texts or tokens is not WORDS
    last = maps[-1].images[0].get_array()
    head = (head or num_heads) - 1
    np.testing.assert_array_equal(last, results["attention"][-1][0][head])


def test_other_heads_are_refused():
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="from 1 to 2. Received: head=3"):
        plot_attention(make_results(1, 2, WORDS), head=3)
