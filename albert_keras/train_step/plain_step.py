"""Base class of the training steps, used directly on PyTorch."""

import contextlib

from keras import ops

from albert_keras.train_step.losses import Linearized


class PlainStep:
    """Keras' own training step, which computes the whole batch at once."""

    can_split = False
    num_replicas = 1

    def prepare_step(self, jit_compile):
        """Prepares a newly compiled model for its first step.

        Args:
            jit_compile: As for `compile`.
        """

    def build_running_means(self, batch_spec):
        """Creates the variables of the running means, before they are restored.

        Args:
            batch_spec: `element_spec` of a dataset of whole batches.
        """

    def strategy_scope(self):
        """Returns the context for models that share the weights of this one."""
        return contextlib.nullcontext()

    def sum_over_replicas(self, values):
        """Returns the sums of a list of tensors over all replicas."""
        return values

    def linearized(self, parts, outputs):
        """Returns the targets of each part, `Linearized` for losses of whole batches.

        Args:
            parts: List of tuples `(features, targets, ...)`.
            outputs: List of the outputs of each part.
        """
        losses = self.output_losses
        targets = [{**losses.by_name(y)} for _, y, *_ in parts]
        outputs = [losses.by_name(y_pred) for y_pred in outputs]
        for name, loss in losses.of_whole_batches.items():
            y_true, y_pred = ([each[name] for each in x] for x in (targets, outputs))
            value, gradient = self.loss_and_gradient(
                loss, ops.concatenate(y_true), ops.concatenate(y_pred)
            )
            start = 0
            for target, rows in zip(targets, y_pred, strict=True):
                end = start + ops.shape(rows)[0]
                target[name] = Linearized(value, gradient[start:end])
                start = end
        return targets

    def loss_mean(self):
        """Returns the metric with Keras' running mean of the loss."""
        return next(metric for metric in self.metrics if metric.name == "loss")
