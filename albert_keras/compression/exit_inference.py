"""Inference with early exit."""

import keras

from albert_keras.checks import check_is_list
from albert_keras.compression.early_exit import ExitRule, logits_at, simulate_exits


def check_has_exits(model):
    """Raises a ValueError if a model has no exits."""
    if not model.export_spec().has_exits:
        raise ValueError(
            f"Early exit needs a model with exits. Received: {type(model).__name__}. "
            "Train an AlbertEarlyExitClassifier, or use `finetune --early-exit`."
        )


class EarlyExit:
    """A classifier whose rows exit after the layer that a rule chooses.

    On TensorFlow a loop of the graph drops finished rows from the batch, so that the time
    depends on the mean depth. On other backends all depths are computed; the outputs are
    the same.

    Args:
        model: `AlbertEarlyExitClassifier`.
        rule: `ExitRule`. Default: the model's calibrated `exit_rule`, or full depth if it
            has none.

    Raises:
        ValueError: If the model has no exits, or the rule is invalid for it.

    Call arguments:
        features: Dict of the model's inputs, tensors or arrays.

    Output shape:
        Dict of `logits` `(batch, num_classes)`, float32, and `exit_depth` `(batch,)`,
        int32 from 1.

    Example:

    ```python
    classifier = ak.AlbertEarlyExitClassifier.from_preset("runs/exits")
    rule = ak.compression.ExitRule("patience", patience=3)
    exits = ak.compression.EarlyExit(classifier, rule)
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
            from albert_keras.compression.tensorflow_exits import exit_early_compiled

            return exit_early_compiled(self.model, self.rule, features)
        logits = keras.ops.convert_to_numpy(self.model.exit_logits(features))
        depths = simulate_exits(self.rule, logits)
        chosen = logits_at(logits, depths)
        return {"logits": chosen, "exit_depth": depths.astype("int32")}

    def predict(self, texts, batch_size=32):
        """Returns the arrays `logits` and `exit_depth` for raw text, in a dict.

        Args:
            texts: List of str, or of tuples of two for a model of pairs. The model needs
                a preprocessor.
            batch_size: int. Rows of a batch, on average.
        """
        from albert_keras.tasks.prediction import task_of

        check_is_list("texts", texts)
        task = task_of(self.model)
        examples = task.prepare(task.rows_of(texts)).examples
        return task.example_outputs(self, examples, batch_size)
