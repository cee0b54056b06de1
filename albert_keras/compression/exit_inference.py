"""Inference that stops early: batches of rows that leave at different depths."""

import functools

import keras
import numpy as np

from albert_keras.checks import check_is_list
from albert_keras.compression.early_exit import ExitRule
from albert_keras.layers import attention_bias


def check_has_exits(model):
    """Raises a ValueError if a model has no exits."""
    if not hasattr(model, "exit_logits"):
        raise ValueError(
            f"Early exit needs a model with exits. Received: {type(model).__name__}. "
            "Train AlbertEarlyExitClassifier, or by `finetune --early-exit`."
        )


class EarlyExit:
    """A classifier whose rows leave after the layer that a rule chooses.

    Finished rows are dropped from the batch, so that it costs its mean depth. On
    TensorFlow that is a loop of the graph; on other backends the batch is cut on the
    host, to powers of two rows, each compiled once for a shared layer.

    Args:
        model: `AlbertEarlyExitClassifier`.
        rule: `ExitRule`, or `None` for the calibrated one, the model's `exit_rule`;
            without that all rows go to full depth.

    Raises:
        ValueError: If the model has no exits, or the rule does not fit it.

    Call arguments:
        features: Dict of the model's inputs, tensors or arrays.

    Output shape:
        Dict of `logits` `(batch, num_classes)`, float32, and `exit_depth` `(batch,)`,
        int32 from 1.

    Example:

    ```python
    classifier = ak.AlbertEarlyExitClassifier.from_preset("runs/exits")
    exits = ak.EarlyExit(classifier, ak.ExitRule("patience", patience=3))
    exits.predict(["a charming journey"])["exit_depth"]
    ```
    """

    def __init__(self, model, rule=None):
        check_has_exits(model)
        num_layers = model.backbone.num_layers
        if rule is None:
            full_depth = {"name": "fixed_depth", "min_depth": num_layers}
            rule = ExitRule.from_dict(model.exit_rule or full_depth)
        rule.check(num_layers, model.num_classes)
        self.model, self.rule = model, rule

    def __call__(self, features, training=False):
        if keras.config.backend() == "tensorflow":
            from albert_keras.compression.tensorflow_exits import exit_early

            return exit_early(self.model, self.rule, features)
        return exit_on_host(self.model, self.rule, features)

    def predict(self, texts, batch_size=32):
        """Returns a dict of the arrays `logits` and `exit_depth` for raw text.

        Args:
            texts: List of str, or of tuples of two for a model of pairs. The model needs
                a preprocessor.
            batch_size: int. Rows of a batch.
        """
        from albert_keras.tasks.prediction import task_of

        check_is_list("texts", texts)
        task = task_of(self.model)
        examples = task.prepare(task.rows_of(texts)).examples
        return task.example_outputs(self, examples, batch_size)


class EveryDepth:
    """The logits of all depths as a function of features, for calibration.

    Args:
        model: `AlbertEarlyExitClassifier`.

    Output shape:
        `(batch, num_layers, num_classes)`.
    """

    def __init__(self, model):
        self.model = model

    def __call__(self, features, training=False):
        return self.model.exit_logits(features)


def exit_on_host(model, rule, features):
    """Returns as `EarlyExit`, with NumPy between the layers."""
    kernels, biases = map(keras.ops.convert_to_numpy, model.exit_weights())
    x, mask = model.backbone.embed(features)
    x, mask = keras.ops.convert_to_numpy(x), np.asarray(mask)
    rows = np.arange(len(x))
    counts = np.zeros(len(x), int)
    logits = np.zeros((len(x), model.num_classes), np.float32)
    exit_depth = np.zeros(len(x), np.int32)
    now = logits
    for depth, layer in enumerate(model.backbone.layers_of_depths, start=1):
        x, pooled = _advance(model.backbone, layer, x, mask)
        previous, now = now, pooled @ kernels[depth - 1] + biases[depth - 1]
        logits[rows], exit_depth[rows] = now, depth
        counts = rule.count(now, previous, counts, depth)
        kept = ~rule.is_done(counts, depth)
        rows, x, mask, now, counts = (
            array[kept] for array in (rows, x, mask, now, counts)
        )
        if not len(rows):
            break
    return {"logits": logits, "exit_depth": exit_depth}


def _advance(backbone, layer, x, mask):
    """Returns the states of the rows after one layer, and their pooled outputs."""
    num_rows = len(x)
    # (bucket, ...): the last row fills the batch up to a power of two.
    bucket = 1 << (num_rows - 1).bit_length()
    filled = np.minimum(np.arange(bucket), num_rows - 1)
    x, pooled = _compiled(backbone.pooler, layer)(x[filled], mask[filled])
    pooled = keras.ops.convert_to_numpy(keras.ops.cast(pooled, "float32"))
    return keras.ops.convert_to_numpy(x)[:num_rows], pooled[:num_rows]


@functools.lru_cache(maxsize=64)
def _compiled(pooler, layer):
    """Returns a layer with the pooler as a function of states and mask.

    It is compiled on JAX.
    """

    def apply(x, mask):
        bias = attention_bias(mask)
        for encoder in layer:
            x = encoder(x, bias, training=False)
        return x, pooler(x[:, 0])

    if keras.config.backend() != "jax":
        return apply
    import jax

    variables = [v for part in (*layer, pooler) for v in part.variables]

    def pure(values, x, mask):
        mapping = list(zip(variables, values, strict=True))
        with keras.StatelessScope(state_mapping=mapping):
            return apply(x, mask)

    compiled = jax.jit(pure)
    return lambda x, mask: compiled([v.value for v in variables], x, mask)
