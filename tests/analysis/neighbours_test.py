"""Nearest pieces of words, by the cosine of their embeddings."""

import types

import numpy as np
import pytest

from albert_keras.analysis import nearest_pieces, plot_neighbours
from albert_keras.models import AlbertBackbone
from tests.figure_checks import check_layout, texts_of
from tests.helpers import make_config, randomize

NUM_PIECES = 57


def make_tokenizer():
    """A tokenizer whose words are their pieces' numbers, such as `5,7`."""

    def encode_ragged(texts):
        ids = [int(part) for part in texts[0].split(",") if part]
        return np.int32(ids), np.array([0, len(ids)])

    encoder = types.SimpleNamespace(
        encode_ragged=encode_ragged, vocabulary_size=lambda: NUM_PIECES
    )
    return types.SimpleNamespace(
        encoder=encoder, special_token_ids=[0, 2, 3], id_to_token="t{}".format
    )


@pytest.fixture(scope="module")
def own():
    """A backbone with pieces in known directions."""
    own = randomize(AlbertBackbone(**make_config().to_dict()))
    table = np.array(own.token_embedding.embeddings)
    # Opposite to it, in its direction, and special.
    table[8], table[9], table[3] = -table[5], 2.5 * table[5], table[5]
    # Beyond the vocabulary.
    table[60] = table[5]
    own.token_embedding.embeddings.assign(table)
    return own


def test_known_neighbours_of_both_spaces(own):
    found = nearest_pieces(own, make_tokenizer(), ["5", "11,12"], NUM_PIECES)
    assert found["5"]["pieces"] == ["t5"]
    assert found["11,12"]["pieces"] == ["t11", "t12"]
    table = np.array(own.token_embedding.embeddings)[:NUM_PIECES]
    embedding = own.embedding
    projected = np.array(embedding.projection(embedding.normalization(table)))
    for space, vectors in (("embedding", table), ("projected", projected)):
        neighbours = found["5"][space]
        assert neighbours[0]["piece"] == "t9"
        assert neighbours[0]["cosine"] == pytest.approx(1, abs=1e-3)
        # All but three special pieces and the word's own.
        assert len(neighbours) == NUM_PIECES - 4
        assert len(found["11,12"][space]) == NUM_PIECES - 5
        word = vectors[[11, 12]].mean(axis=0)
        norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(word)
        for neighbour in found["11,12"][space]:
            index = int(neighbour["piece"][1:])
            cosine = vectors[index] @ word / norms[index]
            assert neighbour["cosine"] == pytest.approx(cosine, abs=1e-5)
    last = found["5"]["embedding"][-1]
    assert (last["piece"], last["cosine"]) == ("t8", pytest.approx(-1))


def test_without_projection_there_is_one_space():
    own = AlbertBackbone(**make_config(embedding_dim=28).to_dict())
    found = nearest_pieces(own, make_tokenizer(), ["7"], 4)
    assert [*found["7"]] == ["pieces", "embedding"]
    assert len(found["7"]["embedding"]) == 4


def test_words_need_pieces(own):
    with pytest.raises(ValueError, match="must have a piece. Received: ','"):
        nearest_pieces(own, make_tokenizer(), [","])
    with pytest.raises(TypeError, match="words"):
        nearest_pieces(own, make_tokenizer(), "5")


def test_layout(tmp_path):
    pytest.importorskip("matplotlib")
    listed = [{"piece": f"▁$p_{i}", "cosine": 0.9 - 0.31 * i} for i in range(5)]
    results = {
        word: {"pieces": [word], "embedding": listed, "projected": listed}
        for word in ("king", "$x_1")
    }
    figure = plot_neighbours(results, tmp_path / "a.svg")
    check_layout(figure)
    assert len(figure.axes) == 4
    assert {"king: factorized embedding", "▁$p_4", "-0.34"} <= texts_of(figure)
