"""Google's TensorFlow 1 checkpoints: `*.index`, `*.data-*` and `albert_config.json`."""

import json
import pathlib

from albert_keras.config import AlbertConfig
from albert_keras.converters.name_table import (
    ATTENTION,
    FEED_FORWARD,
    Row,
    translate_activation,
    translate_config,
)

CONFIG_NAMES = {
    "vocab_size": "vocabulary_size",
    "num_hidden_layers": "num_layers",
    "num_attention_heads": "num_heads",
    "embedding_size": "embedding_dim",
    "hidden_size": "hidden_dim",
    "intermediate_size": "intermediate_dim",
    "num_hidden_groups": "num_groups",
    "inner_group_num": "num_inner_repetitions",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    "hidden_act": "activation",
    "initializer_range": "initializer_range",
    "max_position_embeddings": "max_sequence_length",
    "type_vocab_size": "num_segments",
}
# Written into the released files and read by no released code.
IGNORED_CONFIG_NAMES = (
    "net_structure_type",
    "gap_size",
    "num_memory_blocks",
    "down_scale_factor",
    "layers_to_keep",
)
# Google's "gelu" is the tanh approximation; modeling.py.
ACTIVATIONS = {"gelu": "gelu_tanh", "relu": "relu"}

_LAYER = "bert/encoder/transformer/group_{group}/inner_group_{inner}"


def _dense(source, target):
    return (
        Row(f"{source}/kernel", f"{target}/kernel"),
        Row(f"{source}/bias", f"{target}/bias"),
    )


def _norm(source, target):
    return (
        Row(f"{source}/gamma", f"{target}/gamma"),
        Row(f"{source}/beta", f"{target}/beta"),
    )


def _table(source, target):
    return (Row(f"bert/embeddings/{source}", f"embedding/{target}/embeddings"),)


BACKBONE_ROWS = (
    *_table("word_embeddings", "token_embedding"),
    *_table("token_type_embeddings", "segment_embedding"),
    *_table("position_embeddings", "position_embedding"),
    *_norm("bert/embeddings/LayerNorm", "embedding/layer_norm"),
    *_dense("bert/encoder/embedding_hidden_mapping_in", "embedding/projection"),
    *_dense(f"{_LAYER}/attention_1/self/query", f"{ATTENTION}/query"),
    *_dense(f"{_LAYER}/attention_1/self/key", f"{ATTENTION}/key"),
    *_dense(f"{_LAYER}/attention_1/self/value", f"{ATTENTION}/value"),
    *_dense(f"{_LAYER}/attention_1/output/dense", f"{ATTENTION}/projection"),
    *_norm(f"{_LAYER}/LayerNorm", f"{ATTENTION}/layer_norm"),
    *_dense(f"{_LAYER}/ffn_1/intermediate/dense", f"{FEED_FORWARD}/intermediate"),
    *_dense(f"{_LAYER}/ffn_1/intermediate/output/dense", f"{FEED_FORWARD}/projection"),
    *_norm(f"{_LAYER}/LayerNorm_1", f"{FEED_FORWARD}/layer_norm"),
    *_dense("bert/pooler/dense", "pooler"),
)
HEAD_ROWS = {
    "pretraining": (
        *_dense("cls/predictions/transform/dense", "mlm/transform"),
        *_norm("cls/predictions/transform/LayerNorm", "mlm/layer_norm"),
        Row("cls/predictions/output_bias", "mlm/output_bias"),
        Row("cls/seq_relationship/output_weights", "sop/kernel", transposed=True),
        Row("cls/seq_relationship/output_bias", "sop/bias"),
    ),
    "sequence_classification": (
        Row("output_weights", "logits/kernel", transposed=True),
        Row("output_bias", "logits/bias"),
    ),
    "question_answering": (
        Row("cls/squad/output_weights", "logits/kernel", transposed=True),
        Row("cls/squad/output_bias", "logits/bias"),
    ),
    # RACE's head, which is a classifier's of one class.
    "multiple_choice": (
        Row("output_weights", "logits/kernel", transposed=True),
        Row("output_bias", "logits/bias"),
    ),
}
# The variable whose length is the number of classes of the head.
CLASSES_NAME = {
    "pretraining": "cls/seq_relationship/output_bias",
    "sequence_classification": "output_bias",
}


def find_checkpoint(path):
    """Returns the checkpoint prefix that `path` (prefix or folder) means, or `None`.

    Raises:
        ValueError: If a folder holds several checkpoints.
    """
    if pathlib.Path(f"{path}.index").is_file():
        return pathlib.Path(path)
    path = pathlib.Path(path)
    found = sorted(path.glob("*.index")) if path.is_dir() else []
    if len(found) > 1:
        raise ValueError(
            "A folder with several checkpoints needs the prefix of one of them. "
            f"Received: {path} with {', '.join(p.stem for p in found)}."
        )
    return found[0].with_suffix("") if found else None


def read_config(checkpoint):
    """Returns the `AlbertConfig` of the `albert_config.json` beside a checkpoint.

    Raises:
        FileNotFoundError: If it is absent.
        ValueError: If it holds a key or an activation that is not understood.
    """
    file = checkpoint.parent / "albert_config.json"
    if not file.is_file():
        raise FileNotFoundError(
            f"A Google checkpoint needs its config. Received: no {file}. "
            "Put `albert_config.json` beside the checkpoint, or pass `config`."
        )
    values = translate_config(
        json.loads(file.read_text("utf-8")),
        CONFIG_NAMES,
        IGNORED_CONFIG_NAMES,
        source="Google",
    )
    values["activation"] = translate_activation(
        values.get("activation", "gelu"), ACTIVATIONS, source="Google"
    )
    return AlbertConfig.from_dict(values)


def read_head(checkpoint):
    """Returns the head that the files state: none, for this source."""
    return None


def read_head_options(checkpoint, head):
    """Returns the head's options that the files state: none, for this source."""
    return {}


def read_tensors(checkpoint):
    """Returns a mapping from variable name to array, without the optimizer's slots."""
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(checkpoint))
    return _CheckpointTensors(reader, tf.errors.OpError)


class _CheckpointTensors:
    """Arrays of a checkpoint by name, each read when it is asked for."""

    def __init__(self, reader, read_error):
        self.reader = reader
        self.read_error = read_error
        self.names = [
            name
            for name in reader.get_variable_to_shape_map()
            if name != "global_step" and not name.endswith(("/adam_m", "/adam_v"))
        ]

    def __iter__(self):
        return iter(sorted(self.names))

    def __contains__(self, name):
        return name in self.names

    def __getitem__(self, name):
        try:
            return self.reader.get_tensor(name)
        except (IndexError, self.read_error) as error:
            raise ValueError(
                f"The weights cannot be read. Received: '{name}': {error}."
            ) from error
