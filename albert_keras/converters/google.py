"""Checkpoints of Google's code: `*.index`, `*.data-*` and `albert_config.json`."""

import pathlib
import warnings

from albert_keras.config import PRESETS
from albert_keras.converters.checkpoint import Checkpoint, save_vocabulary
from albert_keras.converters.config_format import ConfigFormat
from albert_keras.converters.name_table import (
    ATTENTION,
    FEED_FORWARD,
    dense_rows,
    norm_rows,
    table_row,
    with_merged_heads,
)
from albert_keras.converters.tensorflow_file import (
    find_prefix,
    read_tensorflow,
    write_tensorflow,
)
from albert_keras.system.files import read_json, write_json

CONFIG_FILE = "albert_config.json"
CHECKPOINT_NAME = "model.ckpt-best"

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
# Google's "gelu" is the tanh approximation; modeling.py.
_ACTIVATIONS = {"gelu": "gelu_tanh", "relu": "relu"}
CONFIG_FORMAT = ConfigFormat("Google", CONFIG_NAMES, _ACTIVATIONS, activation="gelu")

_LAYER = "bert/encoder/transformer/group_{group}/inner_group_{inner}"

BACKBONE_ROWS = (
    *table_row("bert/embeddings/word_embeddings", "token_embedding"),
    *table_row("bert/embeddings/token_type_embeddings", "segment_embedding"),
    *table_row("bert/embeddings/position_embeddings", "position_embedding"),
    *norm_rows("bert/embeddings/LayerNorm", "embedding/layer_norm"),
    *dense_rows("bert/encoder/embedding_hidden_mapping_in", "embedding/projection"),
    *dense_rows(f"{_LAYER}/attention_1/self/query", f"{ATTENTION}/query"),
    *dense_rows(f"{_LAYER}/attention_1/self/key", f"{ATTENTION}/key"),
    *dense_rows(f"{_LAYER}/attention_1/self/value", f"{ATTENTION}/value"),
    *dense_rows(f"{_LAYER}/attention_1/output/dense", f"{ATTENTION}/projection"),
    *norm_rows(f"{_LAYER}/LayerNorm", f"{ATTENTION}/layer_norm"),
    *dense_rows(f"{_LAYER}/ffn_1/intermediate/dense", f"{FEED_FORWARD}/intermediate"),
    *dense_rows(
        f"{_LAYER}/ffn_1/intermediate/output/dense", f"{FEED_FORWARD}/projection"
    ),
    *norm_rows(f"{_LAYER}/LayerNorm_1", f"{FEED_FORWARD}/layer_norm"),
    *dense_rows("bert/pooler/dense", "pooler"),
)
# From names of Model Garden's `AlbertEncoder`, as on TF-Hub, and of `albert_zh` to those
# above. A longer name comes before its prefix.
_SHARED = _LAYER.format(group=0, inner=0)
_ALBERT_ZH = "bert/encoder/layer_shared"
_OTHER_NAMES = {
    "word_embeddings/embeddings": "bert/embeddings/word_embeddings",
    "type_embeddings/embeddings": "bert/embeddings/token_type_embeddings",
    "position_embedding/embeddings": "bert/embeddings/position_embeddings",
    "embeddings/layer_norm": "bert/embeddings/LayerNorm",
    "embedding_projection": "bert/encoder/embedding_hidden_mapping_in",
    "transformer/self_attention/attention_output": f"{_SHARED}/attention_1/output/dense",
    "transformer/self_attention": f"{_SHARED}/attention_1/self",
    "transformer/self_attention_layer_norm": f"{_SHARED}/LayerNorm",
    "transformer/intermediate": f"{_SHARED}/ffn_1/intermediate/dense",
    "transformer/output": f"{_SHARED}/ffn_1/intermediate/output/dense",
    "transformer/output_layer_norm": f"{_SHARED}/LayerNorm_1",
    "pooler_transform": "bert/pooler/dense",
    "cls/predictions/output_bias/bias": "cls/predictions/output_bias",
    f"{_ALBERT_ZH}/attention/self": f"{_SHARED}/attention_1/self",
    f"{_ALBERT_ZH}/attention/output/dense": f"{_SHARED}/attention_1/output/dense",
    f"{_ALBERT_ZH}/attention/output/LayerNorm": f"{_SHARED}/LayerNorm",
    f"{_ALBERT_ZH}/intermediate/dense": f"{_SHARED}/ffn_1/intermediate/dense",
    f"{_ALBERT_ZH}/output/dense": f"{_SHARED}/ffn_1/intermediate/output/dense",
    f"{_ALBERT_ZH}/output/LayerNorm": f"{_SHARED}/LayerNorm_1",
}
# Beginnings and ends of the names of variables that training adds to a checkpoint.
TRAINING_NAMES = ("global_step", "save_counter", "Adam", "LAMB")
OPTIMIZER_SLOTS = ("/adam_m", "/adam_v")


class GoogleCheckpoint(Checkpoint):
    """A checkpoint of TensorFlow, with the names of Google's code or Model Garden's."""

    source = "google"
    layouts = ("google",)
    config_format = CONFIG_FORMAT
    backbone_rows = BACKBONE_ROWS
    find_files = staticmethod(find_prefix)

    def read_config(self):
        """Returns the `AlbertConfig` of the only `albert_config.json` or similar."""
        return read_config_file(self.find_config())

    def find_config(self):
        """Returns the path of the only config beside the files."""
        folders = self.config_folders()
        for pattern in (CONFIG_FILE, "albert_config*.json", "bert_config.json"):
            found = [file for folder in folders for file in folder.glob(pattern)]
            if len(found) > 1:
                raise ValueError(
                    "A checkpoint must have one config beside it. Received: "
                    f"{', '.join(map(str, sorted(found)))}. Pass the right one as "
                    "`config`."
                )
            if found:
                return found[0]
        fitting = ", ".join(fitting_presets(self.tensors))
        raise FileNotFoundError(
            "A checkpoint of TensorFlow needs its config. Received: no "
            f"{CONFIG_FILE} in {', '.join(map(str, folders))}. Put it there, or pass "
            f"`config`. Published sizes with these shapes: {fitting or 'none'}."
        )

    def config_folders(self):
        """Returns the folders that may hold the config."""
        return [self.files.parent]

    def read_tensors(self):
        tensors = with_merged_heads(read_tensorflow(self.files), "/self_attention/")
        return tensors.renamed({name: _google_name(name) for name in tensors.shapes})

    def is_known_extra(self, name):
        """Returns whether training adds a variable."""
        return name.startswith(TRAINING_NAMES) or name.endswith(OPTIMIZER_SLOTS)

    @staticmethod
    def write(model, head, folder, tokenizer=None):
        """Writes a checkpoint for Google's code: variables, config and vocabulary."""
        backbone = model if head is None else model.backbone
        values = CONFIG_FORMAT.write(backbone.albert_config)
        tensors = GoogleCheckpoint.tensors_of(model, head)
        if head == "pretraining" and model.num_pair_classes not in (0, 2):
            warnings.warn(
                "Google's pretraining code reads only a sentence-pair head of 2 classes. "
                f"Received: a head of {model.num_pair_classes} classes.",
                stacklevel=3,
            )
        write_tensorflow(folder / CHECKPOINT_NAME, tensors)
        write_json(folder / CONFIG_FILE, values)
        if tokenizer is not None:
            save_vocabulary(tokenizer, folder)


class SavedModel(GoogleCheckpoint):
    """A SavedModel with Google's variable names, as from TF-Hub or TensorFlow Serving.

    Only the variables are read; the graph is not executed. It has no hyperparameters, so
    the config must be in the folder or its `assets`, or be passed.
    """

    source = "saved_model"
    layouts = ("google", "served")

    @staticmethod
    def find_files(path):
        folder = pathlib.Path(path)
        prefix = folder / "variables" / "variables"
        files = (folder / "saved_model.pb", prefix.with_suffix(".index"))
        return prefix if all(file.is_file() for file in files) else None

    def config_folders(self):
        folder = self.files.parent.parent
        return [folder, folder / "assets", folder / "assets.extra"]


def fitting_presets(tensors):
    """Returns the names in `PRESETS` that fit the shapes of a checkpoint's tensors.

    Shapes do not show the numbers of heads and layers, the activation and dropout.
    """
    table = tensors.shapes.get("bert/embeddings/word_embeddings")
    pooler = tensors.shapes.get("bert/pooler/dense/bias")

    def fits(config):
        sizes = (config.vocabulary_size, config.embedding_dim), (config.hidden_dim,)
        return config.sharing == "all" and sizes == (table, pooler)

    return [name for name, config in PRESETS.items() if fits(config)]


def read_config_file(file):
    """Returns the `AlbertConfig` of a JSON file with Google's keys."""
    stated = read_json(file)
    # A key of albert_zh.
    norm_order = stated.get("ln_type", "postln")
    if norm_order != "postln":
        raise ValueError(
            "Layers must be normalized after their sub-layers. "
            f"Received: ln_type={norm_order!r} in '{file}'."
        )
    return CONFIG_FORMAT.read(stated)


def _google_name(name):
    # TF-Hub modules have a prefix.
    name = name.removeprefix("module/")
    for other, name_here in _OTHER_NAMES.items():
        if f"{name}/".startswith(f"{other}/"):
            return name_here + name.removeprefix(other)
    return name
