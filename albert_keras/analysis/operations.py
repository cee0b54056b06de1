"""Multiply-adds of a model, computed from its config, and their plot."""

from albert_keras.analysis.figures import draw_bars, finish_figure, new_figure
from albert_keras.analysis.parameters import HEADS
from albert_keras.checks import check_positive_integer
from albert_keras.pretraining import PretrainingDataConfig
from albert_keras.pretraining.masking import derive_max_predictions

# Forward and backward pass. The backward pass has two products for each one forward, for
# the gradients of both factors.
_TRAINING = 3
# Parts that rematerialization computes twice.
_ENCODER = ("attention_projections", "attention_products", "feed_forward")


def multiply_adds(config, sequence_length, num_predictions=0):
    """Counts the multiply-adds of a forward pass for one row, by part.

    S and M are the numbers of tokens and masked tokens of a row; V, E, H and I are as in
    `parameter_table`; L is `num_layers * num_inner_repetitions`. Sharing of layers has no
    effect.

        projection             S E H, if there is one
        attention_projections  L 4 S H²
        attention_products     L 2 S² H, of all heads together
        feed_forward           L 2 S H I
        pooler                 H²
        mlm_head               M (H E + E V), with masked tokens
        sop_head               2 H, with masked tokens

    Only matrix products are counted. A multiply-add is two floating-point operations.

    Args:
        config: `AlbertConfig`, with full attention.
        sequence_length: int. Tokens of a row, S.
        num_predictions: int. Masked tokens of a row, M; 0 for a backbone without heads.

    Raises:
        ValueError: If a length is not positive or more than the model's positions, or if
            the config has attention in blocks.

    Example:

    >>> from albert_keras.config import AlbertConfig
    >>> config = AlbertConfig.from_preset("albert_base_v2")
    >>> f"{sum(multiply_adds(config, 512).values()):,}"
    '48,369,303,552'

    Reference: Vaswani et al. 2017, table 1; Lan et al. 2020, sections 3.1 and 4.1.
    """
    check_positive_integer("sequence_length", sequence_length)
    if sequence_length > config.max_sequence_length:
        raise ValueError(
            f"`sequence_length` must be at most {config.max_sequence_length}, the "
            f"model's positions. Received: sequence_length={sequence_length}."
        )
    if config.attention != "full":
        raise ValueError(
            "Operations are counted for full attention. "
            f"Received: attention={config.attention!r}."
        )
    embedding_dim, hidden_dim = config.embedding_dim, config.hidden_dim
    depth = config.num_layers * config.num_inner_repetitions
    token, projected = depth * sequence_length, config.projects_embeddings
    counts = {
        "projection": projected * sequence_length * embedding_dim * hidden_dim,
        "attention_projections": token * 4 * hidden_dim**2,
        "attention_products": token * 2 * sequence_length * hidden_dim,
        "feed_forward": token * 2 * hidden_dim * config.intermediate_dim,
        "pooler": hidden_dim**2,
    }
    if num_predictions:
        widths = hidden_dim + config.vocabulary_size
        counts["mlm_head"] = num_predictions * embedding_dim * widths
        counts["sop_head"] = 2 * hidden_dim
    return counts


def operation_table(config, sequence_length, num_predictions=None):
    """Counts the floating-point operations of a row in inference and pretraining.

    Inference has the forward pass of the backbone. Training has the forward pass of all
    parts, twice as many operations backward, and with `rematerialization` a second
    forward pass of the layers.

    Arguments and errors are those of `multiply_adds`. By default 15 % of the tokens are
    masked.

    Returns:
        Dict: `sequence_length`, `num_predictions`; `inference` and `training`, dicts of
        int by part with their `total`.
    """
    if num_predictions is None:
        rate = PretrainingDataConfig.masked_rate
        num_predictions = derive_max_predictions(sequence_length, rate)
    counts = multiply_adds(config, sequence_length, num_predictions)
    inference = {part: 2 * n for part, n in counts.items() if part not in HEADS}
    training = {
        part: 2 * n * (_TRAINING + (config.rematerialization and part in _ENCODER))
        for part, n in counts.items()
    }
    return {
        "sequence_length": sequence_length,
        "num_predictions": num_predictions,
        "inference": {**inference, "total": sum(inference.values())},
        "training": {**training, "total": sum(training.values())},
    }


def plot_operations(results, image_path=None):
    """Draws an `operation_table` as bars by part.

    Args:
        results: What `operation_table` returns.
        image_path: str, path or None. File to write; its suffix is the format, `.png`,
            `.svg` or `.pdf`.

    Returns:
        `matplotlib.figure.Figure`, which a notebook shows as the last value of a cell.

    Raises:
        ValueError: If the suffix is unknown.
        ImportError: If matplotlib is absent (the extra `plots`).
    """
    figure = new_figure(10, 4)
    for axes, use in zip(figure.subplots(1, 2), ("inference", "training"), strict=True):
        parts = dict(results[use])
        total = parts.pop("total")
        billions = {part: count / 1e9 for part, count in parts.items()}
        shares = [f"{count / total:.1%}" for count in parts.values()]
        draw_bars(axes, billions, shares, color="0.6")
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.set_xlabel("10⁹ floating-point operations of a row")
        axes.set_title(f"{use}, {total / 1e9:,.4g} × 10⁹", fontsize=10)
    length, masked = results["sequence_length"], results["num_predictions"]
    figure.suptitle(f"Rows of {length:,} tokens, {masked:,} of them masked in training")
    return finish_figure(figure, image_path)
