"""Models with attention heads masked, or with their last layers left out."""

import contextlib
from typing import Any, NamedTuple

from keras import ops


class AttentionHead(NamedTuple):
    """An attention head, which all layers have in common that share its weights.

    Attributes:
        attention: `SelfAttention` that the head is part of.
        layers: Tuple of int. Numbers of the layers that apply it, from 1.
        head: int. Its number, from 1.
    """

    attention: Any
    layers: tuple
    head: int


def attention_heads(backbone):
    """Returns the `AttentionHead`s of a backbone, each once, by layer.

    Args:
        backbone: `AlbertBackbone`.

    Example:

    >>> from albert_keras.models import AlbertBackbone
    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> [(head.layers, head.head) for head in attention_heads(backbone)]
    [((1, 2), 1), ((1, 2), 2), ((1, 2), 3)]
    """
    layers = {}
    for number, encoder in enumerate(backbone.encoders, start=1):
        layers.setdefault(encoder.attention, []).append(number)
    num_heads = backbone.albert_config.num_heads
    return [
        AttentionHead(attention, tuple(numbers), head)
        for attention, numbers in layers.items()
        for head in range(1, num_heads + 1)
    ]


@contextlib.contextmanager
def masked_heads(heads):
    """Takes attention heads out of their model until the context ends.

    The rows of the output projection that read a head are 0 meanwhile, so that nothing
    of it reaches the next sub-layer. Programs that are compiled already need not be
    compiled again.

    Args:
        heads: List of `AttentionHead`.

    Example:

    ```python
    with masked_heads(attention_heads(model.backbone)[:2]):
        model.evaluate(dataset)
    ```

    Reference: Michel et al. 2019, Are sixteen heads really better than one?
    """
    kernels = {id(h.attention): h.attention.projection.kernel for h in heads}
    before = {key: ops.convert_to_numpy(kernels[key]).copy() for key in kernels}
    masked = {key: kernel.copy() for key, kernel in before.items()}
    for head in heads:
        kernel = masked[id(head.attention)]
        size = len(kernel) // head.attention.albert_config.num_heads
        kernel[(head.head - 1) * size : head.head * size] = 0
    try:
        for key, kernel in masked.items():
            kernels[key].assign(kernel)
        yield
    finally:
        for key, kernel in before.items():
            kernels[key].assign(kernel)


class ShallowModel:
    """A model that applies its first layers alone, with the head of its full depth.

    Args:
        model: A fine-tuned model of this package.
        num_layers: int. Layers that are applied.

    Call arguments:
        features: Dict of the model's inputs, tensors or arrays.

    Output shape:
        As the model.
    """

    def __init__(self, model, num_layers):
        self.model = model
        self.depth = num_layers * model.backbone.albert_config.num_inner_repetitions

    def __call__(self, features, training=False):
        stack = self.model.backbone.encoder_stack
        before, stack.depth = stack.depth, self.depth
        try:
            return self.model(features, training=training)
        finally:
            stack.depth = before
