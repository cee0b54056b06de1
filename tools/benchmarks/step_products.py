"""The matrix products of one training step, and their time."""

import math
import time
import typing


class Product(typing.NamedTuple):
    """`num_matrices` products of (rows, inner) by (inner, columns), `count` times."""

    num_matrices: int
    rows: int
    inner: int
    columns: int
    count: int

    @property
    def step_flops(self):
        """Floating point operations of a step: forward and both gradients."""
        return 6 * self.count * math.prod(self[:4])


def step_products(work):
    """Returns the products of the forward pass of one pretraining step.

    The backward pass has two more of the same size for each. Pooler and pair head, which
    read one token of each example, are too small to count.

    Args:
        work: Dict: `config`, the fields of `AlbertConfig`; `batch_size`,
            `sequence_length`, `num_predictions`.
    """
    config, length = work["config"], work["sequence_length"]
    hidden_dim, embedding_dim = config["hidden_dim"], config["embedding_dim"]
    intermediate_dim = config["intermediate_dim"]
    num_layers = config["num_layers"] * config["num_inner_repetitions"]
    num_heads = config["num_heads"]
    head_dim = hidden_dim // num_heads
    num_matrices = work["batch_size"] * num_heads
    tokens = work["batch_size"] * length
    masked = work["batch_size"] * work["num_predictions"]
    return [
        Product(1, tokens, embedding_dim, hidden_dim, 1),
        Product(1, tokens, hidden_dim, hidden_dim, 4 * num_layers),
        Product(num_matrices, length, head_dim, length, num_layers),
        Product(num_matrices, length, length, head_dim, num_layers),
        Product(1, tokens, hidden_dim, intermediate_dim, num_layers),
        Product(1, tokens, intermediate_dim, hidden_dim, num_layers),
        Product(1, masked, hidden_dim, embedding_dim, 1),
        Product(1, masked, embedding_dim, config["vocabulary_size"], 1),
    ]


def products_seconds(work, make, multiply):
    """Returns the seconds per step of each of `step_products`.

    Args:
        work: See `step_products`; and `clock`, name of a function of module `time`.
        make: Function that returns a matrix of the framework for a shape.
        multiply: The framework's matrix product, with `transpose_a` and `transpose_b`.
    """
    clock = getattr(time, work["clock"])
    return [_seconds(p, make, multiply, clock) for p in step_products(work)]


def _seconds(product, make, multiply, clock):
    num_matrices, rows, inner, columns, count = product
    shape = () if num_matrices == 1 else (num_matrices,)
    x, w = make((*shape, rows, inner)), make((*shape, inner, columns))

    def forward_and_backward():
        y = multiply(x, w)
        multiply(y, w, transpose_b=True)
        multiply(x, y, transpose_a=True)

    forward_and_backward()
    # A third of the repetitions in a step is enough for an average.
    repetitions = math.ceil(count / 3)
    start = clock()
    for _ in range(repetitions):
        forward_and_backward()
    return (clock() - start) * count / repetitions
