"""Plot of the report of prepared data."""

from albert_keras.analysis.figures import open_figure


def plot_data_report(report, image_path):
    """Draws a `PretrainingDataReport.to_dict()` to an image; see `check_image_path`.

    It shows lengths, masked runs, token shares, and numbers of dropped documents.
    """
    with open_figure(image_path, figsize=(9, 6)) as figure:
        lengths, runs, shares, dropped = figure.subplots(2, 2).flat
        bins = len(report["length_counts"])
        sixteenths = [100 * (index + 0.5) / bins for index in range(bins)]
        lengths.bar(sixteenths, report["length_counts"], width=90 / bins)
        lengths.set_xlabel("real tokens, % of the sequence length")
        lengths.set_ylabel("examples")

        sizes = [str(size) for size in range(1, len(report["run_shares"]) + 1)]
        _bar_shares(runs, sizes, report["run_shares"])
        runs.set_xlabel("words in a masked run")
        runs.set_ylabel("% of the runs")

        names = ("real_token_share", "label_rate", "masked_rate", "unknown_rate")
        _bar_shares(
            shares, [n.replace("_", "\n") for n in names], [report[n] for n in names]
        )
        shares.set_ylabel("%")

        reasons = {
            **report["dropped_documents"],
            "cut": report["cut_documents"],
            "all": report["num_documents"],
        }
        bars = dropped.barh(
            [reason.replace("_", " ") for reason in reasons], list(reasons.values())
        )
        dropped.bar_label(bars)
        dropped.set_xlabel("documents")


def _bar_shares(axes, names, shares):
    bars = axes.bar(names, [100 * share for share in shares])
    axes.bar_label(bars, fmt="%.2f")
