"""Plot of the report on prepared data."""

from albert_keras.analysis.figures import draw_bars, finish_figure, new_figure


def plot_data_report(report, image_path=None):
    """Draws the report on prepared pretraining data.

    The panels show the examples by length, the documents that were cut or not used, the
    numbers of adjacent words that are masked together, and rates.

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
    counts, dropped = report["length_counts"], report["dropped_documents"]
    documents = {"all": report["num_documents"], "cuts": report["cut_documents"]}
    rates = ("real_token_share", "masked_rate", "unknown_rate")
    pairs = report.get("label_shares", {})
    panels = {
        "Examples by tokens, up to a share of the sequence length": {
            f"{place / len(counts):.0%}": n for place, n in enumerate(counts, start=1)
        },
        "Documents": documents
        | {f"not used: {name}": n for name, n in dropped.items()},
        "Adjacent words masked together": {
            f"{size}": share
            for size, share in enumerate(report.get("run_shares", []), 1)
        },
        "Rates": {name: report[name] for name in rates if name in report}
        | {f"pairs: {name}": share for name, share in pairs.items()},
    }
    figure = new_figure(11, 8)
    figure.suptitle(f"Prepared data of {report['num_documents']:,} documents")
    for axes, title in zip(figure.subplots(2, 2).flat, panels, strict=True):
        values = panels[title].values()
        labels = [f"{n:,}" if isinstance(n, int) else f"{n:.2%}" for n in values]
        draw_bars(axes, panels[title], labels)
        axes.set_xticks([])
        axes.set_title(title, fontsize=10)
    return finish_figure(figure, image_path)
