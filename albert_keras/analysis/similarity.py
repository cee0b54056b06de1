"""Distances and angles between inputs and outputs of layers, and their plot."""

import itertools

import numpy as np

from albert_keras.analysis.figures import (
    add_legend,
    finish_figure,
    line_style,
    new_figure,
)
from albert_keras.checks import import_optional

_PANELS = {
    "l2_distance": "L2 distance of a layer's input and output",
    "angle": "angle of a layer's input and output (degrees)",
}


def layer_similarity(backbone, examples, batch_size=32):
    """Compares the input and the output of each layer.

    The means are over all tokens but padding, with `[CLS]` and `[SEP]`; the paper does
    not state its positions. The input of layer 1 is the projected embedding.

    Args:
        backbone: `AlbertBackbone`.
        examples: `Examples`, as `pack_texts` returns them.
        batch_size: int. Rows of a batch.

    Returns:
        Dict: `l2_distance`, and `angle` in degrees, lists of a mean over tokens for each
        layer; and `num_tokens`.

    Reference: Lan et al. 2020, section 3.1 "Cross-layer parameter sharing" and figure 1.
    """
    from albert_keras.train_step import infer

    sums, num_tokens = 0.0, 0
    model = backbone.with_outputs(hidden_states=True)
    # By length, so that there is little padding.
    order = np.argsort(examples.lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        features = examples.padded(rows, examples.lengths[rows].max())
        is_real = features["padding_mask"].astype(bool)
        states = infer(model, features)["hidden_states"]
        # Each (tokens of the batch, hidden_dim), float64.
        states = [state[is_real].astype(np.float64) for state in states]
        sums += np.array([_compare(*pair) for pair in itertools.pairwise(states)])
        num_tokens += int(is_real.sum())
    distances, angles = (sums / num_tokens).T.tolist()
    return {"l2_distance": distances, "angle": angles, "num_tokens": num_tokens}


def _compare(before, after):
    """Returns the sum of the distances of rows, and the sum of the angles in degrees."""
    distances = np.linalg.norm(after - before, axis=1)
    units = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (before, after)]
    # Unlike the arc cosine, this is precise for small angles.
    across = np.linalg.norm(units[1] - units[0], axis=1)
    along = np.linalg.norm(units[1] + units[0], axis=1)
    return distances.sum(), np.degrees(2 * np.arctan2(across, along)).sum()


def plot_similarity(results, image_path=None):
    """Draws the distances and angles of models by depth, as the paper's figure 1.

    Args:
        results: What `measure_similarity` returns.
        image_path: str, path or None. File to write; its suffix is the format, `.png`,
            `.svg` or `.pdf`.

    Returns:
        `matplotlib.figure.Figure`, which a notebook shows as the last value of a cell.
        Models with random weights are dashed.

    Raises:
        ValueError: If the suffix is unknown.
        ImportError: If matplotlib is absent (the extra `plots`).

    Example:

    ```python
    measured = ak.runs.measure_similarity(["albert_nano_en", "runs/unshared"])
    ak.analysis.plot_similarity(measured)
    ```
    """
    models = results["models"]
    names = [model["name"] for model in models]
    figure = new_figure(9, 4.2)
    ticker = import_optional("matplotlib.ticker", "plots")
    for axes, quantity in zip(figure.subplots(1, 2), _PANELS, strict=True):
        for place, model in enumerate(models):
            depths = range(1, len(model[quantity]) + 1)
            style = line_style(place) | {"linestyle": "-", "markersize": 5}
            if model["is_random"]:
                style |= {"linestyle": "--", "markerfacecolor": "w"}
            axes.plot(depths, model[quantity], **style)
        axes.set_xlabel("layer")
        axes.set_ylabel(_PANELS[quantity])
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
    place = {"loc": "outside upper center", "ncols": min(3, len(names))}
    add_legend(figure, figure.axes[0].lines, names, frameon=False, **place)
    return finish_figure(figure, image_path)
