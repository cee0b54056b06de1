"""Writer of TensorFlow 1 checkpoints with Google's names."""

import json

import tensorflow as tf

from tests.helpers import make_config

CONFIG = make_config(num_groups=2, num_inner_repetitions=3, dropout=0.1)
# What both Google and Hugging Face call them.
SIZES = {
    **{"vocab_size": 61, "num_hidden_layers": 3, "num_attention_heads": 4},
    **{"embedding_size": 9, "hidden_size": 28, "intermediate_size": 40},
    **{"num_hidden_groups": 2, "inner_group_num": 3, "max_position_embeddings": 19},
}
JSON = {
    **SIZES,
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.2,
    "hidden_act": "gelu",
    "initializer_range": 0.02,
    "type_vocab_size": 2,
    "net_structure_type": 0,
    "gap_size": 0,
    "num_memory_blocks": 0,
    "down_scale_factor": 1,
    "layers_to_keep": [],
}


def write_checkpoint(prefix, tensors, config=JSON):
    """Writes variables by TensorFlow's own operation, and a config beside them."""
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(tensors),
        shape_and_slices=[""] * len(tensors),
        tensors=list(tensors.values()),
    )
    if config:
        config_file = prefix.parent / "albert_config.json"
        config_file.write_text(json.dumps(config))
