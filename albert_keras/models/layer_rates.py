"""Layer-wise decay of the learning rate."""


def layer_rate_factors(config, decay):
    """Returns factors of the learning rate for the parts of a model.

    The head has factor 1, the last layer `decay`, the layer below `decay ** 2`, and so
    on down to the embeddings. Layers that share parameters have the factor of the last
    of them.

    Args:
        config: `AlbertConfig`.
        decay: float in (0, 1].

    Returns:
        The argument `rate_factors` of `AdamW`.

    Example:

    >>> from albert_keras.config import AlbertConfig
    >>> config = AlbertConfig.from_preset("albert_test", sharing="none")
    >>> layer_rate_factors(config, 0.5)
    {'^embedding/': 0.125, '^layer_0_': 0.25, '^layer_1_': 0.5}

    Reference: google-research/electra model/optimization.py `_get_layer_lrs`, where the
    head is two steps of decay above the last layer.
    """
    if not 0 < decay <= 1:
        raise ValueError(
            f"`decay` must be greater than 0 and at most 1. Received: decay={decay}."
        )
    num_layers = config.num_layers
    factors = {"^embedding/": decay ** (num_layers + 1)}
    of_layers = {}
    for layer in range(num_layers):
        group = layer * config.num_groups // num_layers
        of_layers[f"^layer_{layer}_"] = decay ** (num_layers - layer)
        if config.sharing != "none":
            factors[f"(^|/)group_{group}_"] = decay ** (num_layers - layer)
    # Groups come first: the path of a shared layer names the first of its layers.
    return factors if config.sharing == "all" else factors | of_layers
