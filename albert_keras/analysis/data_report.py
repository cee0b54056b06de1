"""Plot of the report on prepared data."""

from albert_keras.analysis.figures import finish_figure, new_figure

# Rates of the report, and their texts.
_RATES = {
    "real_token_share": "of the positions hold tokens,\nthe others padding",
    "masked_rate": "of the tokens are masked,\nthat is, to be predicted",
    "unknown_rate": "of the text's tokens are unknown\nto the vocabulary",
}


def plot_data_report(report, image_path=None):
    """Draws a `PretrainingDataReport.to_dict()`; see `plot_learning_curve`.

    The panels show the lengths of examples, the numbers of adjacent words that are masked
    together, the documents that were dropped, and rates. Returns the
    `matplotlib.figure.Figure`.
    """
    figure = new_figure(10, 7)
    figure.suptitle(f"Prepared data of {report['num_documents']:,} documents")
    lengths, runs, documents, rates = figure.subplots(2, 2).flat
    _draw_lengths(lengths, report["length_counts"])
    _draw_runs(runs, report.get("run_shares", []))
    _draw_documents(documents, report)
    _write_rates(rates, report)
    return finish_figure(figure, image_path)


def _draw_lengths(axes, counts):
    # Bins are equal parts of the sequence length.
    width = 100 / max(1, len(counts))
    edges = [width * place for place in range(len(counts))]
    axes.bar(edges, counts, width, align="edge", edgecolor="white")
    axes.set_title("Length of examples")
    axes.set_xlabel("tokens, % of the sequence length")
    axes.set_ylabel("examples")
    axes.yaxis.set_major_formatter("{x:,.0f}")


def _draw_runs(axes, shares):
    sizes = [str(size) for size in range(1, len(shares) + 1)]
    bars = axes.bar(sizes, [100 * share for share in shares])
    axes.bar_label(bars, fmt="%.1f %%")
    # Room for the numbers.
    axes.margins(y=0.15)
    axes.set_title("Adjacent words masked together")
    axes.set_xlabel("words")
    axes.set_ylabel("% of the masked places")


def _draw_documents(axes, report):
    counts = {
        f"not used:\n{reason.replace('_', ' ')}": count
        for reason, count in report["dropped_documents"].items()
    }
    counts["cuts in\nlong ones"] = report["cut_documents"]
    counts["all"] = report["num_documents"]
    bars = axes.barh(list(counts), list(counts.values()))
    axes.bar_label(bars, fmt="{:,.0f}", padding=3)
    # Room for the numbers, which replace ticks.
    axes.margins(x=0.4)
    axes.set_xticks([])
    axes.set_title("Documents")


def _write_rates(axes, report):
    axes.set_axis_off()
    axes.set_title("Rates")
    rates = [(report[name], text) for name, text in _RATES.items() if name in report]
    if shares := report.get("label_shares"):
        *others, last = shares
        text = f"of the sentence pairs are {last},\nthe others {' or '.join(others)}"
        rates.append((shares[last], text))
    for place, (rate, text) in enumerate(rates):
        y = 0.85 - 0.25 * place
        axes.text(0.3, y, f"{rate:.2%}", ha="right", va="center", size=14)
        axes.text(0.35, y, text, va="center")
