"""Base class of the training steps, used as it is on backends without their own."""

import contextlib


class PlainStep:
    """Keras' own step: one program trains on the whole batch, in one part."""

    can_split = False
    num_replicas = 1

    def prepare_step(self, jit_compile):
        """Prepares a newly compiled model for its first step.

        Args:
            jit_compile: As `compile` takes it.
        """

    def build_running_means(self, batch_spec):
        """Creates the variables of the running means, as a resumed run must.

        Args:
            batch_spec: `element_spec` of a dataset of whole batches.
        """

    def strategy_scope(self):
        """Returns the context in which models that share this one's weights are built."""
        return contextlib.nullcontext()

    def sum_over_replicas(self, values):
        """Returns the sums of a list of tensors over all replicas."""
        return values

    def loss_mean(self):
        """Returns the metric in which Keras keeps the mean of the loss."""
        return next(metric for metric in self.metrics if metric.name == "loss")
