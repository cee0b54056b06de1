"""Parameter counts, computed from a config, and their plot."""

from albert_keras.analysis.figures import draw_bars, finish_figure, new_figure

# Parts of `parameter_table` that the paper does not count.
HEADS = ("mlm_head", "sop_head")


def count_parameters(config) -> int:
    """Counts the parameters of an `AlbertBackbone`, with the pooler and without heads.

    The paper's table 1 rounds these numbers. Its 235M for xxlarge do not follow from its
    hyperparameters, which give 222,595,584.

    Example:

    >>> from albert_keras.config import AlbertConfig
    >>> count_parameters(AlbertConfig.from_preset("albert_base_v2"))
    11683584

    Reference: Lan et al. 2020, section 3.1 and table 1.
    """
    table = parameter_table(config)
    return sum(count for part, count in table.items() if part not in HEADS)


def parameter_table(config) -> dict[str, int]:
    """Counts the parameters of each part of a pretraining model of an `AlbertConfig`.

    V, P and S are the sizes of the token, position and segment tables; E, H and I are the
    widths of embedding, encoder and feed-forward layer. Each normalization is counted
    with its part:

        embeddings    (V + P + S) E + 2 E
        projection    E H + H, if there is one
        attention     4 (H² + H) + 2 H, for each one built
        feed_forward  H I + I + I H + H + 2 H, for each one built
        pooler        H² + H
        mlm_head      H E + E + 2 E + V, without the embedding's table
        sop_head      2 H + 2, for two classes of pairs

    Example:

    >>> from albert_keras.config import AlbertConfig
    >>> table = parameter_table(AlbertConfig.from_preset("albert_base_v2"))
    >>> table["attention"], table["feed_forward"], table["mlm_head"]
    (2363904, 4723968, 128688)
    """
    embedding_dim, hidden_dim = config.embedding_dim, config.hidden_dim
    num_rows = config.vocabulary_size + config.max_sequence_length + config.num_segments
    attention = 4 * _dense(hidden_dim, hidden_dim) + 2 * hidden_dim
    feed_forward = (
        _dense(hidden_dim, config.intermediate_dim)
        + _dense(config.intermediate_dim, hidden_dim)
        + 2 * hidden_dim
    )
    return {
        "embeddings": (num_rows + 2) * embedding_dim,
        "projection": config.projects_embeddings * _dense(embedding_dim, hidden_dim),
        "attention": _num_sub_layers(config, "attention") * attention,
        "feed_forward": _num_sub_layers(config, "ffn") * feed_forward,
        "pooler": _dense(hidden_dim, hidden_dim),
        "mlm_head": _dense(hidden_dim, embedding_dim)
        + 2 * embedding_dim
        + config.vocabulary_size,
        "sop_head": _dense(hidden_dim, 2),
    }


def plot_parameters(results, image_path=None):
    """Draws a `parameter_table` as bars by part.

    Args:
        results: What `parameter_table` returns; a sum `backbone` in it is not drawn.
        image_path: str, path or None. File to write; its suffix is the format, `.png`,
            `.svg` or `.pdf`.

    Returns:
        `matplotlib.figure.Figure`, which a notebook shows as the last value of a cell.
        Hatched bars are heads, which the paper does not count.

    Raises:
        ValueError: If the suffix is unknown.
        ImportError: If matplotlib is absent (the extra `plots`).

    Example:

    ```python
    config = ak.AlbertConfig.from_preset("albert_base_v2")
    ak.analysis.plot_parameters(ak.analysis.parameter_table(config), "parameters.png")
    ```
    """
    parts = {part: count for part, count in results.items() if part != "backbone"}
    total = sum(count for part, count in parts.items() if part not in HEADS)
    figure = new_figure(7, 3.6)
    axes = figure.subplots()
    millions = {part: count / 1e6 for part, count in parts.items()}
    style = {"color": "0.7", "edgecolor": "0.2"}
    style["hatch"] = ["///" if part in HEADS else "" for part in parts]
    draw_bars(axes, millions, [f"{count:,}" for count in parts.values()], **style)
    axes.set_xlabel("10⁶ parameters")
    axes.set_title(f"{total:,} parameters without the heads (hatched)", fontsize=10)
    return finish_figure(figure, image_path)


def _dense(inputs, outputs):
    return inputs * outputs + outputs


def _num_sub_layers(config, sub_layer):
    # Groups beyond the number of layers have no parameters.
    num_groups = min(config.num_groups, config.num_layers)
    depth = num_groups if config.shares(sub_layer) else config.num_layers
    return depth * config.num_inner_repetitions
