"""What `pretrain` begins with: random weights of a shape, or those of a checkpoint."""

from albert_keras.cli.model_arguments import OVERRIDES, model_config
from albert_keras.cli.options import check_unused
from albert_keras.cli.run_folder import model_folder
from albert_keras.converters import change_architecture, load_checkpoint
from albert_keras.models import AlbertBackbone

# What a checkpoint's weights leave open.
FREE = ("max_sequence_length", "dropout", "attention_dropout", "rematerialization")


class PretrainingStart:
    """The shape of a model to pretrain, and its first weights.

    Args:
        arguments: Namespace of `pretrain`.
        vocabulary_size: int. The tokenizer's.

    Raises:
        ValueError: If a shape is given beside a checkpoint, which has its own.
    """

    def __init__(self, arguments, vocabulary_size):
        self.arguments = arguments
        self.checkpoint = None
        if not arguments.checkpoint:
            self.config = model_config(arguments, vocabulary_size=vocabulary_size)
            return
        shape = [name for name in ("preset", *OVERRIDES, "sharing") if name not in FREE]
        check_unused(arguments, shape, "a model with the weights of --checkpoint")
        given = {name: getattr(arguments, name) for name in FREE}
        self.checkpoint = change_architecture(
            load_checkpoint(model_folder(arguments.checkpoint)),
            **{name: value for name, value in given.items() if value is not None},
        )
        self.config = self.checkpoint.backbone.albert_config

    def build(self, task):
        """Returns the task's model; call it inside a strategy's scope.

        Of a checkpoint's heads those are taken that the task has too: a pair head that
        the checkpoint lacks is new.
        """
        config = self.config.to_dict()
        backbone = AlbertBackbone(**config, dtype=self.arguments.precision)
        model = task.build_model(backbone)
        if self.checkpoint:
            backbone.set_weights(self.checkpoint.backbone.get_weights())
            heads = {layer.name: layer for layer in self.checkpoint.layers}
            for layer in model.layers:
                if layer.name in ("mlm", "sop") and layer.name in heads:
                    layer.set_weights(heads[layer.name].get_weights())
        return model
