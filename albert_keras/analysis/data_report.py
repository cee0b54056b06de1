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
    report = ak.prepare_pretraining_data("corpus.txt", tokenizer, "tokens")
    ak.analysis.plot_data_report(report.to_dict(), "report.png")
    ```
    """
    counts, words = report["length_counts"], report.get("run_shares", [])
    places = enumerate(counts, start=1)
    lengths = {f"{place / len(counts):.0%}": count for place, count in places}
    documents = {"all": report["num_documents"], "cuts": report["cut_documents"]}
    for reason, count in report["dropped_documents"].items():
        documents[f"not used: {reason}"] = count
    names = ("real_token_share", "masked_rate", "unknown_rate")
    rates = {name: report[name] for name in names if name in report}
    for name, share in report.get("label_shares", {}).items():
        rates[f"pairs: {name}"] = share
    panels = {
        "Examples by tokens, up to a share of the sequence length": lengths,
        "Documents": documents,
        "Adjacent words masked together": dict(enumerate(words, start=1)),
        "Rates": rates,
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
