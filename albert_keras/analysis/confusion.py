"""Which classes are taken for which, as a picture."""

from albert_keras.analysis.figures import new_figure, save_figure

# Cells with a number in them; more classes are colours alone.
_MOST_COUNTED = 20


def plot_confusion_matrix(report, image_path):
    """Draws a confusion matrix: a row for each class, a column for what it is taken for.

    Colours are shares of a row, so that rare classes show too; numbers are examples.

    Args:
        report: dict, as `tasks.metrics.classification_report` returns it.
        image_path: str or path. The picture to write; the suffix tells the format.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    labels, counts = report["labels"], report["confusion_matrix"]
    shares = [[count / (sum(row) or 1) for count in row] for row in counts]
    size = 2.5 + 0.5 * min(len(labels), 2 * _MOST_COUNTED)
    figure = new_figure(figsize=(size + 1, size))
    axes = figure.subplots()
    image = axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    figure.colorbar(image, label="share of the row")
    places = range(len(labels))
    # A class may have a dollar in its name.
    axes.set_yticks(places, labels, parse_math=False)
    slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(places, labels, parse_math=False, **slanted)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    if len(labels) <= _MOST_COUNTED:
        _write_counts(axes, counts, shares)
    save_figure(figure, image_path)


def _write_counts(axes, counts, shares):
    for row, (row_counts, row_shares) in enumerate(zip(counts, shares, strict=True)):
        for column, (count, share) in enumerate(
            zip(row_counts, row_shares, strict=True)
        ):
            color = "white" if share > 0.5 else "black"
            axes.text(column, row, count, ha="center", va="center", color=color)
