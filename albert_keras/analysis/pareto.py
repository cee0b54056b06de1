"""Plot of what variants of a model score against the time that they take."""

import itertools

from albert_keras.analysis.figures import (
    families_for,
    finish_figure,
    new_figure,
    text_width,
)
from albert_keras.checks import import_optional

# Markers and fills tell the kinds apart without colours.
_STYLES = {
    "run": {"marker": "o", "color": "black", "label": "run"},
    "fixed depth": {"marker": "s", "color": "0.45", "label": "cut at a fixed depth"},
    "exit rule": {"marker": "^", "color": "C0", "label": "early exit by a rule"},
    "SavedModel": {"marker": "D", "color": "C2", "label": "SavedModel"},
    "TFLite": {"marker": "v", "color": "C3", "label": "TFLite"},
}
_WIDTH, _HEIGHT = 8, 5
# Points of type, and of the distance of a label from its point.
_SIZE, _GAP = 9, 6


def pareto_front(variants):
    """Returns the names of the variants that no other one beats, from fast to slow.

    A variant is beaten by one that is at least as good and at least as fast, and one of
    both more.

    Args:
        variants: List of dicts with `name`, `score` and `milliseconds`.

    Example:

    >>> points = [("full", 0.9, 12.0), ("cut", 0.8, 6.0), ("slow", 0.85, 14.0)]
    >>> names = ("name", "score", "milliseconds")
    >>> pareto_front([dict(zip(names, point)) for point in points])
    ['cut', 'full']
    """
    front, best = [], float("-inf")
    for each in sorted(variants, key=lambda v: (v["milliseconds"], -v["score"])):
        if each["score"] > best:
            front.append(each["name"])
            best = each["score"]
    return front


def plot_pareto(results, image_path=None):
    """Draws scores against milliseconds of a row, and the front of the best variants.

    Args:
        results: What `measure_pareto` returns.
        image_path: str, path or None. File to write; its suffix is the format, `.png`,
            `.svg` or `.pdf`.

    Returns:
        `matplotlib.figure.Figure`, which a notebook shows as the last value of a cell.

    Raises:
        ValueError: If the suffix is another.
        ImportError: If matplotlib is absent (the extra `plots`).

    Example:

    ```python
    results = pathlib.Path("pareto.json").read_text()
    ak.plot_pareto(json.loads(results), "pareto.png")
    ```
    """
    variants = results["variants"]
    names = [variant["name"] for variant in variants]
    figure = new_figure(_WIDTH, _HEIGHT)
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_xlabel(
        f"milliseconds of a row (processor time, {_about_batches(results)})"
    )
    axes.set_ylabel(f"{results['metric']} ({results['num_rows']:,} rows)")
    by_name = {variant["name"]: variant for variant in variants}
    front = [by_name[name] for name in pareto_front(variants)]
    axes.plot(*_places(front), color="0.6", linestyle="--", linewidth=1, zorder=1)
    for kind, style in _STYLES.items():
        if points := [v for v in variants if v["kind"] == kind]:
            axes.plot(*_places(points), linestyle="", markersize=7, **style)
    # Room for the labels.
    axes.margins(x=0.25, y=0.15)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    ticker = import_optional("matplotlib.ticker", "plots")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 3, 5, 7)))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    figure.draw_without_rendering()
    _add_labels(axes, variants, families_for(*names))
    return finish_figure(figure, image_path)


def _about_batches(results):
    size = results["batch_size"]
    return "one at a time" if size == 1 else f"batches of {size}"


def _places(variants):
    return [v["milliseconds"] for v in variants], [v["score"] for v in variants]


def _add_labels(axes, variants, families):
    """Writes the names beside the points, where they cover no other name or point."""
    points = axes.transData.transform([*zip(*_places(variants), strict=True)])
    scale = axes.figure.dpi / 72
    taken = [_box(x, y, 4 * scale, 4 * scale) for x, y in points]
    frame = axes.get_window_extent()
    for variant, (x, y) in zip(variants, points, strict=True):
        width = text_width(variant["name"], families, _SIZE) * axes.figure.dpi
        height = 1.3 * _SIZE * scale
        tried = [
            (dx, dy, _box(x + dx, y + dy, width / 2, height / 2))
            for dx, dy in _offsets(width, height, _GAP * scale)
        ]
        inside = [
            place
            for place in tried
            if frame.contains(*place[2][0]) and frame.contains(*place[2][1])
        ] or tried
        dx, dy, box = min(inside, key=lambda place: _overlap(place[2], taken))
        taken.append(box)
        axes.annotate(
            variant["name"],
            (variant["milliseconds"], variant["score"]),
            (dx / scale, dy / scale),
            textcoords="offset points",
            ha="center",
            va="center",
            fontfamily=families,
            fontsize=_SIZE,
            parse_math=False,
            # Over the line of the front, and under the points.
            zorder=1.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            arrowprops={"arrowstyle": "-", "color": "0.7", "linewidth": 0.6},
        )


def _offsets(width, height, gap):
    """Yields the places of a label's centre from its point, the nearest ones first."""
    for distance, side in itertools.product(range(9), (1, -1)):
        rise = side * distance * height * 0.7
        for shift in (width / 2 + gap, -width / 2 - gap):
            yield shift, rise
        if distance:
            yield 0, rise + side * gap


def _box(x, y, half_width, half_height):
    """Returns the lower left and the upper right corner of a box."""
    return (x - half_width, y - half_height), (x + half_width, y + half_height)


def _overlap(box, others):
    """Returns the area that a box shares with others."""
    (left, bottom), (right, top) = box
    return sum(
        max(0, min(right, x1) - max(left, x0)) * max(0, min(top, y1) - max(bottom, y0))
        for (x0, y0), (x1, y1) in others
    )
