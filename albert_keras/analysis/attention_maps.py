"""Attention of one sentence or pair by depth and head, and its plot."""

import math
from typing import NamedTuple

import numpy as np

from albert_keras.analysis.figures import families_for, finish_figure, new_figure

# Inches: of a token in a map, and of the smallest and the largest map.
_TOKEN, _SMALLEST, _LARGEST = 0.13, 0.9, 5.0
# Inches that all maps of a grid take at most, and maps in a row of one head's.
_WIDEST, _IN_A_ROW = 24, 4
# Points of the names of tokens, which need that height a token.
_SIZE = 7


class AttentionMaps(NamedTuple):
    """Attention probabilities of one text.

    `bertviz.head_view(maps.attention, maps.tokens, maps.sentence_b_start)` draws them
    too, with `attention` as PyTorch tensors.

    Attributes:
        tokens: List of str, with `[CLS]` and `[SEP]`.
        sentence_b_start: int, the first token of the second text; `None` without one.
        attention: List of float32 arrays `(1, num_heads, num_tokens, num_tokens)`, one a
            layer applied: the share that the token of a row gives to that of a column.
    """

    tokens: list
    sentence_b_start: int | None
    attention: list

    def entropies(self):
        """Returns how widely each head looks, bits, `(num_layers, num_heads)`.

        It is the mean over tokens: 0 if each attends to one token, and the logarithm of
        the number of tokens to base 2 if to all alike.
        """
        shares = np.concatenate(self.attention).astype(np.float64)
        logarithms = np.log2(np.where(shares > 0, shares, 1.0))
        return -(shares * logarithms).sum(axis=-1).mean(axis=-1)

    def to_dict(self):
        """Returns the fields and `entropy_bits`, as JSON holds them."""
        maps = [np.round(scores, 6).astype(float).tolist() for scores in self.attention]
        return {
            "tokens": self.tokens,
            "sentence_b_start": self.sentence_b_start,
            "attention": maps,
            "entropy_bits": self.entropies().tolist(),
        }


def attention_maps(backbone, tokenizer, examples):
    """Returns the `AttentionMaps` of a text.

    Args:
        backbone: `AlbertBackbone`.
        tokenizer: A tokenizer of this package.
        examples: `Examples` of one text or pair, as `pack_texts` returns them.

    Raises:
        ValueError: If the backbone drops positions.

    Example:

    ```python
    from albert_keras.preprocessors.texts import pack_texts

    examples = pack_texts(tokenizer.encoder, ["It rains."], sequence_length=128)
    maps = attention_maps(backbone, tokenizer, examples)
    plot_attention(maps.to_dict(), "attention.png")
    ```
    """
    from albert_keras.train_step import infer

    features = examples.padded([0], examples.lengths[0])
    model = backbone.with_outputs(attention_scores=True)
    segments = features["segment_ids"][0]
    return AttentionMaps(
        [tokenizer.id_to_token(int(index)) for index in features["token_ids"][0]],
        int(np.argmax(segments)) if segments.any() else None,
        infer(model, features)["attention_scores"],
    )


def plot_attention(results, image_path=None, head=None):
    """Draws the maps of all layers and heads, or of one head at all depths.

    Args:
        results: `AttentionMaps.to_dict()`, or what `read_attention` returns.
        image_path: str, path or None. File to write; its suffix is the format, `.png`,
            `.svg` or `.pdf`.
        head: int or None. The head whose maps are drawn, from 1 on. Default: all heads,
            a column each, with the layers as rows.

    Returns:
        `matplotlib.figure.Figure`. The darker, the greater the share of attention.

    Raises:
        ValueError: If there is no such head, or the suffix is another.
        ImportError: If matplotlib is absent (the extra `plots`).

    Example:

    ```python
    ak.plot_attention(ak.read_attention("albert_nano_en", "It rains."), head=2)
    ```
    """
    # (num_layers, num_heads, num_tokens, num_tokens)
    maps = np.concatenate([np.asarray(scores) for scores in results["attention"]])
    num_layers, num_heads = maps.shape[:2]
    if head is None:
        titles = [
            [f"layer {layer}, head {number}" for number in range(1, num_heads + 1)]
            for layer in range(1, num_layers + 1)
        ]
        return _draw_grid(maps, titles, results["tokens"], image_path)
    check_head(head, num_heads)
    num_columns = min(num_layers, _IN_A_ROW)
    num_rows = math.ceil(num_layers / num_columns)
    titles = [f"layer {layer}, head {head}" for layer in range(1, num_layers + 1)]
    rows = [
        slice(start, start + num_columns)
        for start in range(0, num_rows * num_columns, num_columns)
    ]
    return _draw_grid(
        [maps[row, head - 1] for row in rows],
        [titles[row] for row in rows],
        results["tokens"],
        image_path,
    )


def check_head(head, num_heads):
    """Raises a ValueError if there is no head of this number, from 1 on."""
    if not 1 <= head <= num_heads:
        raise ValueError(
            f"`head` must be a number from 1 to {num_heads}. Received: head={head}."
        )


def _draw_grid(maps, titles, tokens, image_path):
    """Draws rows of maps; the last row may have fewer."""
    num_rows, num_columns = len(titles), len(titles[0])
    side = min(max(_TOKEN * len(tokens), _SMALLEST), _LARGEST, _WIDEST / num_columns)
    side = max(side, _SMALLEST)
    families = families_for(*tokens)
    names_fit = side / len(tokens) >= 0.7 * _SIZE / 72
    room = 0.11 * max(map(len, tokens)) if names_fit else 0.4
    figure = new_figure(
        num_columns * (side + 0.15) + room + 1.3, num_rows * (side + 0.35) + room + 0.6
    )
    grid = figure.subplots(num_rows, num_columns, squeeze=False)
    for row, column in np.ndindex(grid.shape):
        axes = grid[row, column]
        if column >= len(titles[row]):
            axes.set_axis_off()
            continue
        image = axes.imshow(maps[row][column], cmap="Greys", vmin=0.0, vmax=1.0)
        axes.set_title(titles[row][column], fontsize=8)
        is_lowest = row + 1 == num_rows or column >= len(titles[row + 1])
        _name_tokens(axes, tokens if names_fit else None, families, column, is_lowest)
    figure.supylabel("from this token", fontsize=9)
    figure.supxlabel("to this token", fontsize=9)
    figure.colorbar(image, ax=grid[:, -1], label="share of attention", shrink=0.8)
    return finish_figure(figure, image_path)


def _name_tokens(axes, tokens, families, column, is_lowest):
    """Writes the tokens at the left and lower sides of the grid, or their numbers."""
    axes.tick_params(labelsize=_SIZE, labelleft=column == 0, labelbottom=is_lowest)
    if tokens is None:
        return
    style = {"fontfamily": families, "parse_math": False}
    places = range(len(tokens))
    axes.set_yticks(places, tokens if column == 0 else [""] * len(tokens), **style)
    names = tokens if is_lowest else [""] * len(tokens)
    axes.set_xticks(places, names, rotation=90, **style)
