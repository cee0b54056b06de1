"""The step on TensorFlow, exact under every `tf.distribute` strategy."""

import contextlib

import keras
import tensorflow as tf

from albert_keras.train_step.plain_step import PlainStep
from albert_keras.train_step.weights import split_batch


class TensorFlowStep(PlainStep):
    """Mixin of `keras.Model`: a training step, and how steps run on replicas.

    Private names of Keras, held by tests: the optimizer's `_all_reduce_sum_gradients` is
    overridden, since gradients are summed here, before they are clipped and checked; so
    is `_maybe_symbolic_build`, and `_symbolic_build` is called.
    """

    can_split = True

    @property
    def num_replicas(self):
        """Replicas, over all workers, that share a batch."""
        return self.distribute_strategy.num_replicas_in_sync

    def sum_over_replicas(self, values):
        """Returns the sums of a list of tensors, dense or slices, over all replicas."""
        context = tf.distribute.get_replica_context()
        if context is None or context.num_replicas_in_sync == 1:
            return values
        return context.all_reduce(tf.distribute.ReduceOp.SUM, values)

    def prepare_step(self, jit_compile):
        """Binds the compiled optimizer to this step.

        Args:
            jit_compile: bool. Compile the forward and backward passes with XLA; the rest
                of the step holds collectives, which XLA cannot compile on CPUs.
        """
        optimizer = getattr(self.optimizer, "inner_optimizer", self.optimizer)
        optimizer._all_reduce_sum_gradients = getattr(
            optimizer, "clip_aggregated", list
        )
        self._differentiate = self._forward_and_backward
        if not self.run_eagerly:
            compiled = tf.function(
                self._forward_and_backward, jit_compile=jit_compile, autograph=False
            )
            # Wrapped: a saved model would hold a `tf.function` that is an attribute.
            self._differentiate = lambda *arguments: compiled(*arguments)

    def train_step(self, data):
        """Runs one step on this replica's part of the batch."""
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        shares = self.global_weights(y, sample_weight)
        shares = shares._replace(num_parts=self.micro_batches)
        gradients = None
        parts = split_batch((x, y, shares.weights, sample_weight), self.micro_batches)
        for x, y, weights, sample_weight in parts:
            y_pred, part_gradients = self._differentiate(
                x, y, shares._replace(weights=weights)
            )
            self.compute_metrics(x, y, y_pred, sample_weight)
            gradients = _add(gradients, part_gradients)
        # Of what a loss does not depend on there is none.
        pairs = zip(gradients, self.trainable_variables, strict=True)
        pairs = [pair for pair in pairs if pair[0] is not None]
        gradients = self.sum_over_replicas([gradient for gradient, _ in pairs])
        scale = self.optimizer.scale_loss(tf.ones((), gradients[0].dtype))
        gradient_norm = tf.linalg.global_norm(gradients) / scale
        variables = [variable for _, variable in pairs]
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return {"gradient_norm": tf.cast(gradient_norm, "float32")}

    def _forward_and_backward(self, x, y, shares):
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss, scale = self.part_loss(x, y, y_pred, shares)
            contribution = self.optimizer.scale_loss(loss * tf.cast(scale, loss.dtype))
        self._track_loss(loss, scale, shares)
        return y_pred, tape.gradient(contribution, self.trainable_variables)

    def test_step(self, data):
        """Measures this replica's part of the batch."""
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        shares = self.global_weights(y, sample_weight)
        loss, scale = self.part_loss(x, y, y_pred, shares, training=False)
        self._track_loss(loss, scale, shares)
        self.compute_metrics(x, y, y_pred, sample_weight)
        return {}

    def _track_loss(self, loss, scale, shares):
        # A step weighs what it has examples, its parts what they are of it.
        weight = scale * shares.num_examples / self.num_replicas
        self._loss_tracker.update_state(loss * self.num_replicas, sample_weight=weight)

    def make_train_function(self, force=False):
        """Sets `train_function`, which takes an iterator through one or more steps."""
        if self.train_function is None or force:
            outputs = {"gradient_norm": tf.zeros(())}
            self.train_function = self._make_step_runner(
                self.train_step, outputs, self.steps_per_execution
            )
        return self.train_function

    def make_test_function(self, force=False):
        """Sets `test_function`, likewise."""
        if self.test_function is None or force:
            run_step = self._make_step_runner(self.test_step, {}, 1)

            def run_steps(iterator):
                # One by one, since the batches of an evaluation end where they end.
                logs = run_step(iterator)
                with contextlib.suppress(StopIteration, tf.errors.OutOfRangeError):
                    for _ in range(self.steps_per_execution - 1):
                        logs = run_step(iterator)
                return logs

            self.test_function = run_steps
        return self.test_function

    def _make_step_runner(self, step, outputs, num_steps):
        strategy = self.distribute_strategy

        def run_step(data):
            results = strategy.run(step, (data,))
            return {
                name: strategy.experimental_local_results(result)[0]
                for name, result in results.items()
            }

        def run_steps(iterator):
            _, last = tf.while_loop(
                lambda count, _: count < num_steps,
                lambda count, _: (count + 1, run_step(next(iterator))),
                (tf.zeros((), "int32"), outputs),
            )
            return self._with_metrics(last)

        def run_on_data(data):
            return self._with_metrics(run_step(data))

        if not self.run_eagerly:
            run_steps = tf.function(run_steps, reduce_retracing=True, autograph=False)
            run_on_data = tf.function(
                run_on_data, reduce_retracing=True, autograph=False
            )

        def run(iterator):
            kinds = (tf.data.Iterator, tf.distribute.DistributedIterator)
            if isinstance(iterator, kinds):
                return run_steps(iterator)
            return run_on_data(next(iterator))

        return run

    def _with_metrics(self, outputs):
        # Outside of the replicas, where metrics are those of all of them.
        return {**self.get_metrics_result(), **outputs}

    def build_running_means(self, batch_spec):
        """Makes the variables of losses' and metrics' means before the first step.

        Made in it, as Keras does on one device, they have it traced twice, and can be
        given no values, as a resume must.

        Args:
            batch_spec: `element_spec` of a dataset, of all replicas together.
        """
        with self.distribute_strategy.scope():
            self._symbolic_build(data_batch=batch_spec)

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        strategy = self.distribute_strategy
        # Of a batch that is spread over workers Keras cannot take one.
        if strategy.extended._in_multi_worker_mode():
            return
        if iterator is not None and strategy.num_replicas_in_sync == 1:
            dataset = iterator.data_adapter.get_tf_dataset()
            self.build_running_means(dataset.element_spec)
        else:
            super()._maybe_symbolic_build(iterator=iterator, data_batch=data_batch)


def _add(gradients, others):
    if gradients is None:
        return others
    return [_add_two(a, b) for a, b in zip(gradients, others, strict=True)]


def _add_two(gradient, other):
    if gradient is None:
        return None
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient + other
    # Kept apart, as the slices of one big batch are: they enter its norm one by one.
    return tf.IndexedSlices(
        tf.concat([gradient.values, other.values], axis=0),
        tf.concat([gradient.indices, other.indices], axis=0),
        gradient.dense_shape,
    )
