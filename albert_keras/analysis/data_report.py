"""Plot of the report on prepared data."""

from albert_keras.analysis.figures import finish_figure, new_figure

_RATES = {
    "real_token_share": "tokens in all positions",
    "masked_rate": "masked in all tokens",
    "unknown_rate": "unknown in all tokens of the text",
}


def plot_data_report(report, image_path=None):
    """Draws the report on prepared pretraining data.

    The panels show the lengths of examples, the numbers of adjacent words that are masked
    together, the documents that were not used, and rates.

    Args:
        report: Dict, what `to_dict` of a `PretrainingDataReport` returns.
        image_path: str, path or None. File to write; its suffix is the format, `.png`,
            `.svg` or `.pdf`.

    Returns:
        `matplotlib.figure.Figure`, which a notebook shows as the last value of a cell.

    Raises:
        ValueError: If the suffix is unknown.
        ImportError: If matplotlib is absent (the extra `plots`).

    Example:

    ```python
    report = ak.prepare_pretraining_data(["corpus/"], tokenizer, "tokens/")
    ak.analysis.plot_data_report(report.to_dict(), "report.png")
    ```
    """
    figure = new_figure(11, 6)
    figure.suptitle(f"Prepared data of {report['num_documents']:,} documents")
    (lengths, words), (documents, rates) = figure.subplots(2, 2)
    counts = report["length_counts"]
    # Bins are equal parts of the sequence length.
    width = 100 / max(1, len(counts))
    edges = [width * place for place in range(len(counts))]
    lengths.bar(edges, counts, width, align="edge", edgecolor="white")
    lengths.set_title("Tokens of examples, % of the longest")
    lengths.yaxis.set_major_formatter("{x:,.0f}")
    shares = enumerate(report.get("run_shares", []), start=1)
    _draw_bars(words, "Adjacent words masked together", dict(shares), "{:.2%}")
    dropped = report["dropped_documents"]
    numbers = {"all": report["num_documents"], "cuts": report["cut_documents"]}
    numbers |= {f"not used: {n.replace('_', ' ')}": dropped[n] for n in dropped}
    _draw_bars(documents, "Documents", numbers, "{:,.0f}")
    found = {text: report[name] for name, text in _RATES.items() if name in report}
    pairs = report.get("label_shares", {})
    found |= {f"{name} in all pairs": share for name, share in pairs.items()}
    _draw_bars(rates, "Rates", found, "{:.2%}")
    return finish_figure(figure, image_path)


def _draw_bars(axes, title, values, form):
    """Draws a bar for each value, with its number instead of ticks."""
    bars = axes.barh([*map(str, values)], values.values())
    axes.bar_label(bars, fmt=form, padding=3)
    # Room for the numbers.
    axes.margins(x=0.4)
    axes.set_xticks([])
    axes.invert_yaxis()
    axes.set_title(title)
