"""Pieces whose embeddings are nearest to those of words, and their plot."""

import numpy as np

from albert_keras.analysis.figures import families_for, finish_figure, new_figure
from albert_keras.checks import check_is_list, check_positive_integer

SPACES = {
    "embedding": "factorized embedding",
    "projected": "after the projection",
}
# Rows of pieces that are projected together.
_CHUNK = 8192


def nearest_pieces(backbone, tokenizer, words, num_neighbours=10):
    """Returns the pieces of the vocabulary that are nearest to words, by cosine.

    In the factorized space, of width E, a piece is its row of the token table. After the
    projection, to width H, it is what the encoder gets of it alone: its row normalized
    and projected, without a position and a segment. A word of several pieces is the mean
    of theirs.

    Args:
        backbone: `AlbertBackbone`.
        tokenizer: A tokenizer of this package.
        words: list of str.
        num_neighbours: int. Pieces for each word. Special tokens and the word's own
            pieces are none.

    Returns:
        Dict by word of dicts: `pieces`, the word's own, a list of str; and `embedding`,
        and if the backbone projects its embeddings `projected`, lists of dicts of `piece`
        and `cosine`, nearest first.

    Raises:
        TypeError: If `words` is one str.
        ValueError: If a word has no piece.

    Reference: Lan et al. 2020, section 3.1 "Factorized embedding parameterization".
    """
    check_is_list("words", words)
    check_positive_integer("num_neighbours", num_neighbours)
    encoder = tokenizer.encoder
    # A table may have more rows than there are pieces.
    num_pieces = encoder.vocabulary_size()
    spaces = {
        space: _units(vectors[:num_pieces])
        for space, vectors in _vectors(backbone.embedding).items()
    }
    special = list(tokenizer.special_token_ids)
    found = {}
    for word in words:
        ids, _ = encoder.encode_ragged([word])
        if not len(ids):
            raise ValueError(f"A word must have a piece. Received: {word!r}.")
        found[word] = {"pieces": [tokenizer.id_to_token(int(i)) for i in ids]}
        for space, (units, vectors) in spaces.items():
            word_vector = vectors[ids].astype(np.float64).mean(axis=0)
            cosines = units @ (word_vector / np.linalg.norm(word_vector))
            cosines[[*special, *ids]] = -np.inf
            best = np.argsort(-cosines, kind="stable")[:num_neighbours]
            found[word][space] = [
                {"piece": tokenizer.id_to_token(int(i)), "cosine": float(cosines[i])}
                for i in best
                if cosines[i] > -np.inf
            ]
    return found


def _vectors(embedding):
    """Returns the vectors of all pieces in each space, `(vocabulary_size, width)`."""
    from keras import ops

    table = ops.convert_to_numpy(embedding.token_embedding.embeddings)
    if embedding.projection is None:
        return {"embedding": table}
    projected = [
        ops.convert_to_numpy(
            embedding.projection(embedding.normalization(table[start : start + _CHUNK]))
        )
        for start in range(0, len(table), _CHUNK)
    ]
    return {"embedding": table, "projected": np.concatenate(projected)}


def _units(vectors):
    """Returns vectors at length 1, or 0 as they are, and the vectors themselves."""
    vectors = vectors.astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0), vectors


def plot_neighbours(results, image_path=None):
    """Draws the cosines of the nearest pieces, a row of panels for each word.

    Args:
        results: What `nearest_pieces` returns.
        image_path: str, path or None. File to write; its suffix is the format, `.png`,
            `.svg` or `.pdf`.

    Returns:
        `matplotlib.figure.Figure`, which a notebook shows as the last value of a cell.

    Raises:
        ValueError: If the suffix is another.
        ImportError: If matplotlib is absent (the extra `plots`).

    Example:

    ```python
    ak.plot_neighbours(ak.find_neighbours("albert_nano_en", ["king", "river"]))
    ```
    """
    spaces = [name for name in SPACES if name in next(iter(results.values()))]
    most = max(len(found["embedding"]) for found in results.values())
    figure = new_figure(
        0.6 + 4 * len(spaces), 0.4 + len(results) * (0.8 + 0.22 * max(2, most))
    )
    grid = figure.subplots(len(results), len(spaces), squeeze=False)
    for row, (word, found) in zip(grid, results.items(), strict=True):
        for axes, space in zip(row, spaces, strict=True):
            pieces = [neighbour["piece"] for neighbour in found[space]]
            style = {"fontfamily": families_for(word, *pieces), "parse_math": False}
            bars = axes.barh(
                range(len(pieces)), [n["cosine"] for n in found[space]], color="0.6"
            )
            axes.bar_label(bars, fmt="%.2f", padding=3)
            axes.set_yticks(range(len(pieces)), pieces, **style)
            axes.invert_yaxis()
            # Room for the numbers.
            axes.margins(x=0.2)
            axes.set_title(f"{word}: {SPACES[space]}", fontsize=10, **style)
    for axes in grid[-1]:
        axes.set_xlabel("cosine")
    return finish_figure(figure, image_path)
