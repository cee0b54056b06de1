"""Training step on TensorFlow, exact under every `tf.distribute` strategy."""

import contextlib

import keras
import numpy as np
import tensorflow as tf
from keras import tree

from albert_keras.system.processor import hint_at_variables
from albert_keras.train_step.clipping import Clipping
from albert_keras.train_step.plain_step import PlainStep
from albert_keras.train_step.weights import split_batch, update_mean

ARRAYS = (tf.Tensor, np.ndarray)
ITERATORS = (tf.data.Iterator, tf.distribute.DistributedIterator)


class TensorFlowStep(PlainStep):
    """Mixin of `keras.Model`: a step on one replica, and a loop of steps on all replicas.

    Gradients are summed over the replicas, measured and clipped here. Since the optimizer
    sums gradients over the replicas too, it gets them divided by the number of replicas.
    """

    can_split = True
    clipping = Clipping()
    has_running_means = False

    @property
    def num_replicas(self):
        """Number of replicas that share a batch."""
        return self.distribute_strategy.num_replicas_in_sync

    def strategy_scope(self):
        return self.distribute_strategy.scope()

    def sum_over_replicas(self, values):
        context = tf.distribute.get_replica_context()
        if context is None or context.num_replicas_in_sync == 1:
            return values
        return context.all_reduce(tf.distribute.ReduceOp.SUM, values)

    def prepare_step(self, jit_compile):
        has_gpu = bool(keras.distribution.list_devices("gpu"))
        if not has_gpu:
            hint_at_variables()
        if jit_compile == "auto":
            jit_compile = has_gpu
        self.has_running_means = False
        self._differentiate, self._forward = (
            # XLA cannot compile the collective operations in the rest of the step on
            # CPUs.
            function if self.run_eagerly else _compiled(function, jit_compile)
            for function in (self._forward_and_backward, self._forward_alone)
        )

    def train_step(self, data):
        """Trains on this replica's part of the batch, and returns the logs."""
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        shares = self.global_weights(y, sample_weight)
        gradients = None
        parts = split_batch((x, y, shares.weights, sample_weight), self.micro_batches)
        targets = [y for _, y, *_ in parts]
        is_divided = self.num_replicas * self.micro_batches > 1
        if self.output_losses.of_whole_batches and is_divided:
            targets = self.linearized(parts, self._outputs_of(parts))
        for (x, y, weights, sample_weight), target in zip(parts, targets, strict=True):
            y_pred, part_gradients = self._differentiate(
                x, target, shares._replace(weights=weights)
            )
            logs = self.compute_metrics(x, y, y_pred, sample_weight)
            gradients = _add(gradients, part_gradients)
        gradient_norm = self._apply(gradients)
        if self.log_gradient_norm:
            logs = {**logs, "gradient_norm": gradient_norm}
        return logs

    def _outputs_of(self, parts):
        """Returns the training outputs of parts; computed again, dropout is the same."""
        # Only the states of dropout are integers among the variables.
        states = [v for v in self.non_trainable_variables if "int" in v.dtype]
        before = [tf.identity(state.value) for state in states]
        outputs = [self._forward(x) for x, *_ in parts]
        for state, value in zip(states, before, strict=True):
            state.assign(value)
        return outputs

    def loss_and_gradient(self, loss, y_true, y_pred):
        """Returns a loss of the whole batch, and the gradient of this replica's rows."""
        context = tf.distribute.get_replica_context()
        size = tf.shape(y_pred)[:1]
        start = tf.zeros_like(size)
        if context.num_replicas_in_sync > 1:
            sizes = context.all_gather(size, axis=0)
            start = tf.reduce_sum(sizes[: context.replica_id_in_sync_group])[None]
            y_true, y_pred = (
                # Gathered tensors have no static shape.
                tf.ensure_shape(context.all_gather(x, axis=0), [None, *x.shape[1:]])
                for x in (y_true, y_pred)
            )
        with tf.GradientTape() as tape:
            tape.watch(y_pred)
            value = loss.call(y_true, y_pred)
        return value, tape.gradient(value, y_pred)[start[0] : start[0] + size[0]]

    def _forward_alone(self, x):
        return self(x, training=True)

    def _forward_and_backward(self, x, y, shares):
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x, y, y_pred, shares)
            scaled_loss = self.optimizer.scale_loss(loss)
        update_mean(self.loss_mean(), loss, shares)
        return y_pred, tape.gradient(scaled_loss, self.trainable_variables)

    def _apply(self, gradients):
        """Updates the variables; returns the norm of the gradient of the whole batch."""
        # Variables that the loss does not depend on have no gradient.
        pairs = zip(gradients, self.trainable_variables, strict=True)
        pairs = [pair for pair in pairs if pair[0] is not None]
        gradients = self.sum_over_replicas([gradient for gradient, _ in pairs])
        norm = tf.linalg.global_norm(gradients)
        scale = self.optimizer.scale_loss(tf.ones((), norm.dtype))
        gradients = self.clipping.apply(gradients, norm, scale)
        if self.num_replicas > 1:
            gradients = [gradient / self.num_replicas for gradient in gradients]
        variables = [variable for _, variable in pairs]
        # Only here, because a user's own train step leaves clipping to the optimizer.
        with self.clipping.taken_from(self.optimizer):
            self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return tf.cast(norm / scale, "float32")

    def test_step(self, data):
        """Evaluates this replica's part of the batch, and returns the running means."""
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        shares = self.global_weights(y, sample_weight)
        target = y
        if self.output_losses.of_whole_batches and self.num_replicas > 1:
            (target,) = self.linearized([(x, y)], [y_pred])
        loss = self.compute_loss(x, target, y_pred, shares, training=False)
        update_mean(self.loss_mean(), loss, shares)
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def make_train_function(self, force=False):
        """Sets `train_function`, which takes one or more steps with an iterator."""
        if self.train_function is None or force:
            run_step = self._make_step_runner(self.train_step, self.steps_per_execution)

            def run_steps(iterator):
                if not self.optimizer.built:
                    # If the first step created variables, it would be traced twice.
                    with self.distribute_strategy.scope():
                        self.optimizer.build(self.trainable_variables)
                self.clipping = Clipping.of(self.optimizer)
                return run_step(iterator)

            self.train_function = run_steps
        return self.train_function

    def make_test_function(self, force=False):
        """Sets `test_function`, which evaluates one or more batches of an iterator."""
        if self.test_function is None or force:
            run_step = self._make_step_runner(self.test_step, 1)

            def run_steps(iterator):
                # In single calls, since fewer batches may be left for the last call.
                logs = run_step(iterator)
                with contextlib.suppress(StopIteration, tf.errors.OutOfRangeError):
                    for _ in range(self.steps_per_execution - 1):
                        logs = run_step(iterator)
                return logs

            self.test_function = run_steps
        return self.test_function

    def make_predict_function(self, force=False):
        """Sets `predict_function`, which is traced once for batches of all shapes."""
        if self.predict_function is None or force:
            super().make_predict_function(force)
            if not self.run_eagerly:
                self.predict_function = _for_all_shapes(self.predict_function)
        return self.predict_function

    def _make_step_runner(self, step, num_steps):
        """Returns a function that takes `num_steps` steps on all replicas.

        Keras' own loop, which tolerates a lack of batches, fails on several replicas if
        a step has loops itself, as with rematerialization (TensorFlow 2.21).
        """
        strategy = self.distribute_strategy

        def run_step(data):
            results = strategy.run(step, (data,))
            return {
                name: strategy.experimental_local_results(result)[0]
                for name, result in results.items()
            }

        def run_steps(iterator):
            logs = run_step(next(iterator))
            if num_steps > 1:
                _, logs = tf.while_loop(
                    lambda count, _: count < num_steps,
                    lambda count, _: (count + 1, run_step(next(iterator))),
                    (tf.ones((), "int32"), logs),
                )
            return self._with_global_means(logs)

        if not self.run_eagerly:
            if num_steps > 1:
                # Traced once, though it is called twice.
                run_step = tf.function(run_step, autograph=False)
            run_steps = tf.function(run_steps, reduce_retracing=True, autograph=False)

        def run(iterator):
            if not isinstance(iterator, ITERATORS):
                # `train_on_batch` passes a generator of one batch.
                iterator = iter(tf.data.Dataset.from_tensors(next(iterator)))
            # Metrics of eager steps may not work in a graph, and are not built before.
            if isinstance(iterator, tf.data.Iterator) and not self.run_eagerly:
                self.build_running_means(iterator.element_spec)
            return run_steps(iterator)

        return run

    def _with_global_means(self, logs):
        if self.num_replicas == 1:
            return logs
        # The logs of a replica have the means of its own parts of the batches.
        means = self.get_metrics_result()
        return logs | {name: means[name] for name in means if name in logs}

    def build_running_means(self, batch_spec):
        if self.has_running_means:
            return

        def measure(batch, y_pred):
            x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(batch)
            # Called only for its errors.
            self.global_weights(y, sample_weight)
            self.compute_metrics(x, y, y_pred, sample_weight)

        # Traced but never run. The scope prevents assignments to the variables.
        with self.distribute_strategy.scope(), keras.StatelessScope():
            tf.function(measure, autograph=False).get_concrete_function(
                batch_spec, self._output_specs(batch_spec)
            )
        self.has_running_means = True

    def _output_specs(self, batch_spec):
        """Returns the specs of the outputs; functional models know them untraced."""
        x, *_ = keras.utils.unpack_x_y_sample_weight(batch_spec)
        inputs = keras.tree.map_structure(
            lambda spec: keras.KerasTensor([None] * len(spec.shape), spec.dtype.name), x
        )
        return keras.tree.map_structure(
            lambda output: tf.TensorSpec(output.shape, output.dtype),
            self.compute_output_spec(inputs, training=False),
        )


def _compiled(function, jit_compile):
    compiled = tf.function(function, jit_compile=jit_compile, autograph=False)
    # The lambda keeps the `tf.function` out of saved models.
    return lambda *arguments: compiled(*arguments)


def _of_any_size(array):
    return tf.TensorSpec([None] * array.ndim, array.dtype)


def _for_all_shapes(function):
    """Returns a `tf.function` of a list of batches that is traced for all shapes."""
    lengths = set()

    def call(batches):
        # Batches of several replicas have no single shape.
        is_new = len(batches) not in lengths
        if is_new and all(isinstance(t, ARRAYS) for t in tree.flatten(batches)):
            function.get_concrete_function(tree.map_structure(_of_any_size, batches))
            lengths.add(len(batches))
        return function(batches)

    return call


def _add(gradients, others):
    if gradients is None:
        return others
    return [_add_two(a, b) for a, b in zip(gradients, others, strict=True)]


def _add_two(gradient, other):
    if gradient is None:
        return None
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient + other
    # Not summed by row: norms count each slice, as without micro-batches.
    return tf.IndexedSlices(
        tf.concat([gradient.values, other.values], axis=0),
        tf.concat([gradient.indices, other.indices], axis=0),
        gradient.dense_shape,
    )
