"""Training step on JAX, where one program computes the whole batch."""

import functools

import jax
import keras
from keras import ops

from albert_keras.keras_internals import stateless_loss
from albert_keras.train_step.plain_step import PlainStep
from albert_keras.train_step.weights import split_batch, update_mean


class JaxStep(PlainStep):
    """Mixin of `keras.Model`: a training step that can divide its batch into parts."""

    can_split = True

    def train_step(self, state, data):
        """Trains on the whole batch; returns the logs and the new state."""
        trainable, non_trainable, optimizer_variables, metrics_variables = state
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        shares = self.global_weights(y, sample_weight)
        options = {"training": True, "optimizer_variables": optimizer_variables}
        loss_of = functools.partial(stateless_loss, self, **options)
        differentiate = jax.grad(loss_of, has_aux=True)
        gradients = None
        parts = split_batch((x, y, shares.weights, sample_weight), self.micro_batches)
        targets = [y for _, y, *_ in parts]
        if self.output_losses.of_whole_batches and len(parts) > 1:
            outputs, states = [], non_trainable
            for x, *_ in parts:
                y_pred, states = self.stateless_call(
                    trainable, states, x, training=True
                )
                outputs.append(y_pred)
            targets = self.linearized(parts, outputs)
        for (x, y, weights, sample_weight), target in zip(parts, targets, strict=True):
            part = shares._replace(weights=weights)
            part_gradients, updates = differentiate(
                trainable, non_trainable, metrics_variables, x, target, part
            )
            loss, y_pred, non_trainable, metrics_variables = updates
            gradients = _add(gradients, part_gradients)
            logs, metrics_variables = self._update_metrics(
                metrics_variables, loss, part, (x, y, y_pred, sample_weight)
            )
        if self.log_gradient_norm:
            logs["gradient_norm"] = self._gradient_norm(gradients, optimizer_variables)
        trainable, optimizer_variables = self.optimizer.stateless_apply(
            optimizer_variables, gradients, trainable
        )
        state = (trainable, non_trainable, optimizer_variables, metrics_variables)
        return logs, state

    def test_step(self, state, data):
        """Evaluates the whole batch; returns the logs and the new state.

        Rows without weights, which complete the last batch of several workers, are not
        counted in the means of losses.
        """
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        shares = self.global_weights(y, sample_weight)
        _, updates = stateless_loss(self, *state, x, y, shares)
        loss, y_pred, non_trainable, metrics_variables = updates
        logs, metrics_variables = self._update_metrics(
            metrics_variables, loss, shares, (x, y, y_pred, sample_weight)
        )
        return logs, (state[0], non_trainable, metrics_variables)

    def loss_and_gradient(self, loss, y_true, y_pred):
        """Returns a loss of the whole batch, and its gradient for the outputs."""
        return jax.value_and_grad(loss.call, argnums=1)(y_true, y_pred)

    def _update_metrics(self, metrics_variables, loss, shares, measured):
        mapping = zip(self.metrics_variables, metrics_variables, strict=True)
        with keras.StatelessScope(state_mapping=list(mapping)) as scope:
            update_mean(self.loss_mean(), loss, shares)
            logs = self.compute_metrics(*measured)
        return logs, [scope.get_current_value(v) for v in self.metrics_variables]

    def _gradient_norm(self, gradients, optimizer_variables):
        squares = [ops.sum(ops.square(gradient)) for gradient in gradients]
        mapping = zip(self.optimizer.variables, optimizer_variables, strict=True)
        with keras.StatelessScope(state_mapping=list(mapping)):
            scale = self.optimizer.scale_loss(1.0)
        return ops.cast(ops.sqrt(sum(squares)) / scale, "float32")


def _add(gradients, others):
    if gradients is None:
        return others
    return [a + b for a, b in zip(gradients, others, strict=True)]
