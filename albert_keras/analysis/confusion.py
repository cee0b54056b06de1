"""Plot of a confusion matrix."""

from albert_keras.analysis.figures import open_figure

# Most classes whose cells show numbers.
_MOST_COUNTED = 20


def plot_confusion_matrix(report, image_path):
    """Draws the confusion matrix of a `tasks.metrics.classification_report` to an image.

    Rows are true classes, columns predicted ones. Colours are shares of a row, so that
    rare classes are visible; numbers are examples. See `check_image_path` for suffixes.
    """
    labels, counts = report["labels"], report["confusion_matrix"]
    shares = [[count / (sum(row) or 1) for count in row] for row in counts]
    size = 2.5 + 0.5 * min(len(labels), 2 * _MOST_COUNTED)
    with open_figure(image_path, figsize=(size + 1, size)) as figure:
        axes = figure.subplots()
        image = axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
        figure.colorbar(image, label="share of the row")
        places = range(len(labels))
        # Names of classes may hold dollar signs.
        axes.set_yticks(places, labels, parse_math=False)
        slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        axes.set_xticks(places, labels, parse_math=False, **slanted)
        axes.set_xlabel("predicted")
        axes.set_ylabel("true")
        if len(labels) <= _MOST_COUNTED:
            _write_counts(axes, counts, shares)


def _write_counts(axes, counts, shares):
    for row, (row_counts, row_shares) in enumerate(zip(counts, shares, strict=True)):
        for column, (count, share) in enumerate(
            zip(row_counts, row_shares, strict=True)
        ):
            color = "white" if share > 0.5 else "black"
            axes.text(column, row, count, ha="center", va="center", color=color)
