"""Training step whose result does not depend on how its batch is divided."""

import keras
from keras import ops, tree

from albert_keras.checks import check_positive_integer
from albert_keras.train_step.losses import OutputLosses, as_mean
from albert_keras.train_step.weights import GlobalWeights, global_weights

match keras.config.backend():
    case "tensorflow":
        from albert_keras.train_step.tensorflow_step import TensorFlowStep as Step
    case "jax":
        from albert_keras.train_step.jax_step import JaxStep as Step
    case _:
        from albert_keras.train_step.plain_step import PlainStep as Step


class ExactTrainStep(Step):
    """Mixin of Keras models that trains identically on any number of devices.

    Losses are means over the whole batch (over all its masked tokens, not means of
    replicas' means). Gradients are summed over replicas and micro-batches before they are
    checked and clipped. Metrics cover all replicas. So a single device, several replicas
    or workers, and several micro-batches take the same step, up to rounding, with any
    Keras optimizer.

    `train_step` and `test_step` may be overridden as Keras documents. They return the
    loss and all metrics of one replica; the logs of `fit` cover all replicas.
    """

    micro_batches = 1
    log_gradient_norm = False
    output_losses = OutputLosses()

    def compile(
        self,
        optimizer="rmsprop",
        loss=None,
        loss_weights=None,
        *,
        micro_batches=1,
        log_gradient_norm=False,
        jit_compile="auto",
        **kwargs,
    ):
        """Compiles the model for training.

        Args:
            optimizer: Keras optimizer, without `gradient_accumulation_steps`.
            loss: Keras loss whose reduction is a mean, its name, or a function `(y_true,
                y_pred)` that returns a value for each example, or their mean; or a dict
                of losses by output name. A single loss is applied to all named outputs.
            loss_weights: Number, or a dict of numbers by output name. Default 1.
            micro_batches: int > 0. Number of parts of each replica's batch, computed one
                after the other to save memory. The step is the same.
            log_gradient_norm: bool. Whether to log the norm of the last step's gradient
                before clipping, as `gradient_norm`. Default False.
            jit_compile: bool or `"auto"`. On TensorFlow, whether to compile the forward
                and backward passes with XLA; `"auto"` does so on GPUs (on CPUs the plain
                graph is as fast). On other backends as in Keras.
            **kwargs: Other arguments of `keras.Model.compile`. `steps_per_execution`
                should divide the number of steps of an epoch.
        """
        check_positive_integer("micro_batches", micro_batches)
        if micro_batches > 1 and not self.can_split:
            raise ValueError(
                "Only the TensorFlow and JAX backends can divide a batch. Received: "
                f"micro_batches={micro_batches}. Leave it out."
            )
        optimizer = keras.optimizers.get(optimizer)
        if optimizer is not None and optimizer.gradient_accumulation_steps:
            raise ValueError(
                "`gradient_accumulation_steps` of a Keras optimizer cannot be used here: "
                "its loss would depend on how the batch is divided. Received: "
                f"{optimizer.gradient_accumulation_steps}. Pass `micro_batches` to "
                "`compile`."
            )
        self.micro_batches = micro_batches
        self.log_gradient_norm = log_gradient_norm
        outputs = getattr(self, "output", None)
        if isinstance(outputs, dict) and not isinstance(loss, dict | None):
            loss = dict.fromkeys(outputs, loss)
        loss = tree.map_structure(as_mean, loss)
        self.output_losses = OutputLosses(loss, loss_weights)
        on_jax = keras.config.backend() == "jax"
        super().compile(
            optimizer=optimizer,
            loss=None,
            loss_weights=loss_weights,
            jit_compile=jit_compile if on_jax else False,
            **kwargs,
        )
        self.loss = loss
        self.jit_compile_choice = jit_compile
        if self.optimizer is not None:
            self.prepare_step(jit_compile)

    def get_compile_config(self):
        """Returns the arguments of `compile`, including those that Keras does not have.

        Plain Keras models can be compiled with the result, as in `clone_model`: `loss`
        is the original one, and Keras ignores `step` in the entry of the optimizer.
        """
        config = super().get_compile_config()
        if config:
            config["loss"] = keras.saving.serialize_keras_object(self.loss)
            config["jit_compile"] = self.jit_compile_choice
        if config and config["optimizer"]:
            config["optimizer"]["step"] = {
                "micro_batches": self.micro_batches,
                "log_gradient_norm": self.log_gradient_norm,
                # A loaded optimizer must have the same variables as the file.
                "optimizer_built": self.optimizer.built,
            }
        return config

    def compile_from_config(self, config):
        """Compiles with the arguments in a saved configuration, if there are any."""
        if not config:
            return
        config = {**config, **(config["optimizer"] or {}).get("step", {})}
        optimizer_built = config.pop("optimizer_built", False)
        self.compile(**keras.saving.deserialize_keras_object(config))
        if optimizer_built:
            self.optimizer.build(self.trainable_variables)

    def retrace(self):
        """Makes the next steps use changed variables of layers."""
        self.train_function = self.test_function = self.predict_function = None
        if self.optimizer is not None:
            self.prepare_step(self.jit_compile_choice)

    def global_weights(self, y, sample_weight):
        """Returns the `GlobalWeights` of the batch of this process or replica."""
        if y is None or not self.output_losses.losses:
            received = "y=None" if y is None else "loss=None"
            raise ValueError(
                "Training and evaluation must have targets and a loss. Received: "
                f"{received}. Pass `loss` to `compile`, and `y`, or batches `(x, y)`."
            )
        if self.output_losses.of_whole_batches and sample_weight is not None:
            raise ValueError(
                "A loss of whole batches cannot have sample weights. "
                "Received: sample_weight. Leave it out."
            )
        targets = self.output_losses.by_name(y)
        return global_weights(targets, sample_weight, self.sum_over_replicas)

    @property
    def metrics(self):
        return [*super().metrics, *self.output_losses.means.values()]

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        """Returns the loss of a batch, or the contribution of a part to it.

        Args:
            sample_weight: As for `keras.Model.compute_loss`, or the `GlobalWeights` of a
                part.
        """
        shares = sample_weight
        if not isinstance(shares, GlobalWeights):
            shares = self.global_weights(y, sample_weight)
        loss = self.output_losses.add(y, y_pred, shares, training)
        others = sum(ops.sum(ops.cast(each, loss.dtype)) for each in self.losses)
        return loss + others * shares.share_of_examples
