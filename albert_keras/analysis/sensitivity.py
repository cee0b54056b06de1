"""Plot of what cuts, quantization and pruning of heads cost a run's score."""

from albert_keras.analysis.figures import families_for, finish_figure, new_figure
from albert_keras.checks import import_optional


def plot_sensitivity(results, image_path=None):
    """Draws the scores of a run that is cut, quantized, or without attention heads.

    Args:
        results: What `measure_sensitivity` returns.
        image_path: str, path or None. File to write; its suffix is the format, `.png`,
            `.svg` or `.pdf`.

    Returns:
        `matplotlib.figure.Figure`, which a notebook shows as the last value of a cell.
        The dotted lines are the score of the whole model.

    Raises:
        ValueError: If the suffix is another.
        ImportError: If matplotlib is absent (the extra `plots`).

    Example:

    ```python
    results = pathlib.Path("sensitivity.json").read_text()
    ak.plot_sensitivity(json.loads(results), "sensitivity.png")
    ```
    """
    panels = [_draw_depths, _draw_heads, _draw_pruned]
    if results["quantization"]:
        panels.insert(1, _draw_quantization)
    num_rows = -(-len(panels) // 2)
    figure = new_figure(10, 0.6 + 3.2 * num_rows)
    # Each with its own scale: a head costs less than a layer.
    grid = figure.subplots(num_rows, 2, squeeze=False)
    for axes, draw in zip(grid.flat, panels, strict=False):
        axes.axhline(results["score"], color="0.4", linestyle=":", linewidth=1.2)
        draw(axes, results)
        axes.grid(axis="y", alpha=0.3)
    for spare in grid.flat[len(panels) :]:
        spare.remove()
    for axes in grid[:, 0]:
        axes.set_ylabel(results["metric"])
    figure.suptitle(
        f"{results['run']}: {results['metric']} of {results['num_rows']:,} rows, "
        f"{results['score']:.4g} whole (dotted)",
        fontsize=11,
        fontfamily=families_for(results["run"]),
        parse_math=False,
    )
    return finish_figure(figure, image_path)


def _scores(found):
    return [each["score"] for each in found]


def _whole_numbers(axes):
    ticker = import_optional("matplotlib.ticker", "plots")
    axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))


def _draw_depths(axes, results):
    depths = [each["depth"] for each in results["depths"]]
    axes.plot(depths, _scores(results["depths"]), "o-", color="0.15", markersize=5)
    axes.set_xlabel("layers applied")
    how = "exits" if results["has_exits"] else "the last layer's head"
    axes.set_title(f"Cut at a depth, with {how}", fontsize=10)
    _whole_numbers(axes)


def _draw_quantization(axes, results):
    found = results["quantization"]
    places = range(len(found))
    axes.plot(places, _scores(found), "s", color="0.15", markersize=6)
    names = [f"{each['name']}\n{each['bytes'] / 1e6:.2f} MB" for each in found]
    axes.set_xticks(places, names, fontsize=8)
    axes.margins(x=0.25)
    axes.set_title("Quantized", fontsize=10)


def _draw_heads(axes, results):
    found = results["heads"]
    places = range(1, len(found) + 1)
    axes.plot(places, _scores(found), "^", color="0.15", markersize=5)
    axes.set_xlabel("head, by layers that share it")
    if len(found) <= 16:
        axes.set_xticks(places, [_name_of(head) for head in found], fontsize=8)
    else:
        _whole_numbers(axes)
    axes.set_title("One attention head masked", fontsize=10)


def _name_of(head):
    first, last = head["layers"][0], head["layers"][-1]
    layers = f"{first}" if first == last else f"{first}-{last}"
    return f"{head['head']}\n({layers})"


def _draw_pruned(axes, results):
    numbers = [0, *(each["num_heads"] for each in results["pruned"])]
    scores = [results["score"], *_scores(results["pruned"])]
    axes.plot(numbers, scores, "v-", color="0.15", markersize=5)
    axes.set_xlabel("heads masked, the cheapest first")
    axes.set_title("More and more attention heads masked", fontsize=10)
    _whole_numbers(axes)
