"""Linear probes: what a linear classifier reads from each depth, and their plot."""

import collections

import numpy as np

from albert_keras.analysis.figures import finish_figure, new_figure
from albert_keras.analysis.hidden_states import hidden_states
from albert_keras.checks import import_optional

_LINES = {
    "pooled": {"label": "[CLS], pooled", "linestyle": "-", "marker": "o"},
    "mean": {"label": "mean of the tokens", "linestyle": "--", "marker": "s"},
}
# Steps of L-BFGS, far more than the probes need.
_MOST_STEPS = 5000


def probe_layers(
    backbone, train, train_labels, held_out, held_out_labels, batch_size=32
):
    """Measures a logistic regression on the frozen outputs of every depth.

    At each depth one probe reads `pooled`, the output of the backbone's pooler for the
    first token, and one `mean`, the mean of the real tokens, `[CLS]` and `[SEP]` too. The
    columns are centred, and not scaled: what only rounding tells apart stays as small as
    it is. The penalty is scikit-learn's default (L2, C=1).

    Args:
        backbone: `AlbertBackbone`.
        train, held_out: `Examples`, as `pack_texts` returns them.
        train_labels, held_out_labels: Lists of str or int, one an example.
        batch_size: int. Rows of a batch.

    Returns:
        Dict: `pooled` and `mean`, lists of the accuracy on the held-out rows, one number
        a depth: the embedding, and each layer applied; `majority_accuracy`, that of the
        most frequent label of the training rows; `num_train` and `num_held_out`.

    Raises:
        ValueError: If the training rows have one label alone, or the backbone drops
            positions.

    Reference: Alain and Bengio 2016, arXiv 1610.01644.
    """
    counts = collections.Counter(train_labels)
    if len(counts) < 2:
        raise ValueError(
            "A probe needs training rows of two labels or more. "
            f"Received: {len(train_labels)} rows of {', '.join(map(str, counts))}."
        )
    inputs = _pool(backbone, train, batch_size)
    tests = _pool(backbone, held_out, batch_size)
    results = {
        kind: [
            probe_accuracy(rows, train_labels, test_rows, held_out_labels)
            for rows, test_rows in zip(inputs[kind], tests[kind], strict=True)
        ]
        for kind in _LINES
    }
    [(most_frequent, _)] = counts.most_common(1)
    hits = np.asarray(held_out_labels) == most_frequent
    return {
        **results,
        "majority_accuracy": float(hits.mean()),
        "num_train": len(train_labels),
        "num_held_out": len(held_out_labels),
    }


def _pool(backbone, examples, batch_size):
    """Returns by kind an array `(num_depths, num_examples, hidden_dim)`."""
    from keras import ops

    depth = 1 + len(backbone.encoders)
    shape = (depth, examples.num_examples, backbone.albert_config.hidden_dim)
    pooled = {kind: np.zeros(shape, np.float32) for kind in _LINES}
    for rows, states, is_real in hidden_states(backbone, examples, batch_size):
        weights = is_real / is_real.sum(axis=1, keepdims=True)
        for depth, state in enumerate(states):
            first = backbone.pooler(state[:, 0])
            pooled["pooled"][depth, rows] = ops.convert_to_numpy(first)
            pooled["mean"][depth, rows] = np.einsum("bld,bl->bd", state, weights)
    return pooled


def probe_accuracy(train, train_labels, held_out, held_out_labels):
    """Returns the accuracy of a logistic regression on held-out rows.

    Args:
        train, held_out: float arrays `(num_rows, num_columns)`.
        train_labels, held_out_labels: Labels, one a row.
    """
    from sklearn.linear_model import LogisticRegression

    centre = train.mean(axis=0)
    model = LogisticRegression(max_iter=_MOST_STEPS)
    model.fit(train - centre, train_labels)
    return float(model.score(held_out - centre, held_out_labels))


def plot_probe(results, image_path=None):
    """Draws the accuracy of probes by depth.

    Args:
        results: What `probe_layers` or `probe_model` returns.
        image_path: str, path or None. File to write; its suffix is the format, `.png`,
            `.svg` or `.pdf`.

    Returns:
        `matplotlib.figure.Figure`, which a notebook shows as the last value of a cell.

    Raises:
        ValueError: If the suffix is another.
        ImportError: If matplotlib is absent (the extra `plots`).
    """
    figure = new_figure(7, 4.5)
    axes = figure.subplots()
    for kind, style in _LINES.items():
        axes.plot(results[kind], markersize=5, **style)
    axes.axhline(
        results["majority_accuracy"],
        color="0.3",
        linestyle=":",
        label="most frequent label",
    )
    axes.set_xlabel("layer (0: the embedding)")
    axes.set_ylabel(f"accuracy ({results['num_held_out']:,} held-out rows)")
    ticker = import_optional("matplotlib.ticker", "plots")
    axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return finish_figure(figure, image_path)
