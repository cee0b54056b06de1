"""Hugging Face folders: `config.json` with weights of PyTorch or TensorFlow."""

import functools
import pathlib
import warnings

from albert_keras.checks import check_json, check_rate, shortened, shown
from albert_keras.converters import google, heads
from albert_keras.converters.checkpoint import Checkpoint, save_vocabulary
from albert_keras.converters.config_format import ConfigFormat
from albert_keras.converters.name_table import ATTENTION, FEED_FORWARD, table_row
from albert_keras.converters.stored_tensors import StoredTensors, joined
from albert_keras.converters.weight_files import (
    read_hdf5,
    read_pytorch,
    read_safetensors,
    write_safetensors,
)
from albert_keras.models import HEADS
from albert_keras.models.classes import is_multi_label
from albert_keras.system.files import read_json, write_json
from albert_keras.tokenizers.huggingface_files import write_tokenizer_files

# The default of transformers' config.
DEFAULT_DROPOUT = 0.1
LABELLED_HEADS = ("sequence_classification", "token_classification")
# A `problem_type`, with which transformers' pipelines use the sigmoid.
MULTI_LABEL = "multi_label_classification"
# Keys that do not change what is computed: those of every model of transformers 2.2 to 5,
# then those of FARM, transformers.js, Google and BERT. A warning names other keys.
IGNORED_CONFIG_NAMES = {
    *"""
    _attn_implementation _attn_implementation_autoset _attn_implementation_internal
    _commit_hash _experts_implementation_internal _name_or_path _num_labels
    _output_attentions architectures attn_implementation bad_words_ids
    begin_suppress_tokens bos_token_id chunk_size_feed_forward classifier_dropout
    classifier_dropout_prob cross_attention_hidden_size decoder_start_token_id
    diversity_penalty do_sample dtype early_stopping encoder_no_repeat_ngram_size
    eos_token_id eos_token_ids exponential_decay_length_penalty finetuning_task
    forced_bos_token_id forced_eos_token_id gradient_checkpointing id2label label2id
    length_penalty max_length max_new_tokens min_length name_or_path
    no_repeat_ngram_size num_beam_groups num_beams num_labels num_return_sequences
    output_attentions output_hidden_states output_past output_scores pad_token_id prefix
    problem_type remove_invalid_values repetition_penalty return_dict
    return_dict_in_generate sep_token_id suppress_tokens task_specific_params temperature
    tf_legacy_loss tie_encoder_decoder tokenizer_class top_k top_p torch_dtype torchscript
    transformers_version typical_p use_bfloat16 use_cache use_return_dict xla_device
    language name transformers.js_config directionality down_scale_factor gap_size
    layers_to_keep net_structure_type num_memory_blocks pooler_fc_size
    pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type
    """.split(),
}
# Keys that change what is computed, with the only value that is allowed. Null and empty
# values count as `False`.
_UNSET = (
    *("add_cross_attention", "is_decoder", "is_encoder_decoder", "per_layer_config"),
    *("pruned_heads", "quantization_config"),
)
FIXED_CONFIG_VALUES = {
    **dict.fromkeys(_UNSET, False),
    "model_type": "albert",
    "position_embedding_type": "absolute",
    "tie_word_embeddings": True,
}
# "gelu" is the exact one here; Google's tanh approximation has other names.
_TANH_NAMES = (
    *("gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate"),
    "gelu_python_tanh",
)
_ACTIVATIONS = {
    **dict.fromkeys(("gelu", "gelu_python"), "gelu"),
    **dict.fromkeys(_TANH_NAMES, "gelu_tanh"),
    "relu": "relu",
    **dict.fromkeys(("silu", "swish"), "silu"),
}
CONFIG_FORMAT = ConfigFormat(
    "Hugging Face",
    {**google.CONFIG_NAMES, "layer_norm_eps": "layer_norm_epsilon"},
    activations=_ACTIVATIONS,
    # transformers omits default values.
    activation="gelu_new",
    always_projects=True,
)

_LAYER = "albert.encoder.albert_layer_groups.{group}.albert_layers.{inner}"

BACKBONE_ROWS = (
    *table_row("albert.embeddings.word_embeddings.weight", "token_embedding"),
    *table_row("albert.embeddings.token_type_embeddings.weight", "segment_embedding"),
    *table_row("albert.embeddings.position_embeddings.weight", "position_embedding"),
    *heads.torch_norm("albert.embeddings.LayerNorm", "embedding/layer_norm"),
    *heads.torch_dense(
        "albert.encoder.embedding_hidden_mapping_in", "embedding/projection"
    ),
    *heads.torch_dense(f"{_LAYER}.attention.query", f"{ATTENTION}/query"),
    *heads.torch_dense(f"{_LAYER}.attention.key", f"{ATTENTION}/key"),
    *heads.torch_dense(f"{_LAYER}.attention.value", f"{ATTENTION}/value"),
    *heads.torch_dense(f"{_LAYER}.attention.dense", f"{ATTENTION}/projection"),
    *heads.torch_norm(f"{_LAYER}.attention.LayerNorm", f"{ATTENTION}/layer_norm"),
    *heads.torch_dense(f"{_LAYER}.ffn", f"{FEED_FORWARD}/intermediate"),
    *heads.torch_dense(f"{_LAYER}.ffn_output", f"{FEED_FORWARD}/projection"),
    *heads.torch_norm(f"{_LAYER}.full_layer_layer_norm", f"{FEED_FORWARD}/layer_norm"),
    *heads.torch_dense("albert.pooler", "pooler"),
)
# Tied tensors: files have one of the names, or both. transformers reads the second one.
TIED_NAMES = {
    "predictions.decoder.weight": "albert.embeddings.word_embeddings.weight",
    "predictions.decoder.bias": "predictions.bias",
}
# Constants in files of older versions of transformers.
_CONSTANTS = ("embeddings.position_ids", "embeddings.token_type_ids")
# The prefix before it is the name of the backbone.
_POSITION_TABLE = "embeddings.position_embeddings.weight"
_PARTS_OF_BACKBONE = ("embeddings.", "encoder.", "pooler.")
# Suffix of the file that lists the shards of weights.
INDEX_SUFFIX = ".index.json"


class HuggingFaceFolder(Checkpoint):
    """A folder with `config.json` and a file of weights, the path `files`."""

    source = "huggingface"
    layouts = ("huggingface",)
    config_format = CONFIG_FORMAT
    backbone_rows = BACKBONE_ROWS

    @staticmethod
    def find_files(path):
        """Returns the file of weights in a folder, or its index, or `None`.

        safetensors come first.
        """
        for name in WEIGHT_READERS:
            for end in ("", INDEX_SUFFIX):
                file = pathlib.Path(path, name + end)
                if file.is_file():
                    return file
        return None

    @property
    def config_file(self):
        """The path of `config.json`."""
        return self.files.with_name("config.json")

    @functools.cached_property
    def stated(self):
        """The content of `config.json`, a dict; empty if there is no such file."""
        return read_json(self.config_file) if self.config_file.is_file() else {}

    def read_config(self):
        """Returns the `AlbertConfig` of `config.json`."""
        file, stated = self.config_file, self.stated
        if not file.is_file():
            raise FileNotFoundError(
                f"A Hugging Face folder needs its config. Received: no {file}. "
                f"Put `config.json` beside `{self.files.name}`, or pass `config`."
            )
        for key, only in FIXED_CONFIG_VALUES.items():
            received = stated.get(key)
            if received is not None and received != only and (received or only):
                raise ValueError(
                    f"A Hugging Face folder must have {key}={only!r}: another value "
                    f"changes what is computed. Received: {key}={shown(received)} in "
                    f"'{file}'. Load the model with its own library."
                )
        known = {*CONFIG_FORMAT.names, *FIXED_CONFIG_VALUES, *IGNORED_CONFIG_NAMES}
        if unknown := sorted(stated.keys() - known):
            warnings.warn(
                f"'{file}' has keys that transformers' ALBERT does not read either; "
                f"ignored: {shortened(', '.join(unknown), 1000)}.",
                stacklevel=7,
            )
        try:
            config = CONFIG_FORMAT.read(stated)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{error} It is the config in '{file}'.") from error
        _check_groups(config)
        return config

    @functools.cached_property
    def stated_head(self):
        """The head of the class that `config.json` names, or `None`."""
        stated = self.stated.get("architectures") or []
        check_json(stated, [str], self.config_file, "architectures")
        # The class decides, since the tensors of three classes have the same names.
        for name in stated:
            for head, foreign in heads.FOREIGN_HEADS.items():
                if name in foreign.architectures:
                    return head
        return None

    def head_options(self, head):
        return read_options(self.stated, head)

    def read_tensors(self):
        """Returns the `StoredTensors` under the names of `AlbertForPreTraining`."""
        tensors = _read_weights(self.files)
        names = _current_names(tensors.shapes)
        for copy, name in TIED_NAMES.items():
            if name not in names.values():
                names = {n: name if names[n] == copy else names[n] for n in names}
        return tensors.renamed(names)

    def is_known_extra(self, name):
        """Returns whether a tensor is a copy or a constant."""
        return name in TIED_NAMES or name.endswith(_CONSTANTS)

    def is_outside(self, name):
        """Returns whether a tensor is outside of the backbone, which is ignored."""
        return not name.startswith("albert.")

    @staticmethod
    def write(model, head, folder, tokenizer=None):
        """Writes a folder for transformers: config, weights and tokenizer."""
        _check_groups(getattr(model, "backbone", model).albert_config)
        write_config(model, head, folder, tokenizer)
        tensors = HuggingFaceFolder.tensors_of(model, head)
        if head is None:
            tensors = {name.removeprefix("albert."): v for name, v in tensors.items()}
        elif head != "pretraining" and not model.reads_pooled_output:
            # transformers' class has no pooler, and would warn of one.
            pooler = "albert.pooler"
            tensors = {n: v for n, v in tensors.items() if not n.startswith(pooler)}
        write_safetensors(folder / "model.safetensors", tensors)


def _check_groups(config):
    """Checks that transformers, which rounds quotients, applies the same groups."""
    layers, groups = config.num_layers, config.num_groups
    for index in range(layers):
        rounded, group = int(index / (layers / groups)), index * groups // layers
        if rounded != group:
            raise ValueError(
                "transformers must apply the same groups of layers as this package. "
                f"Received: {layers} layers in {groups} groups: layer {index} belongs to "
                f"group {group}, but transformers applies {rounded}."
            )


def _current_names(names):
    """Returns a dict from the names in a file to those of `AlbertForPreTraining`.

    `AlbertModel` has no prefix. Other classes have their own, such as `bert.`, and a
    wrapper of a model adds one, such as `module.`.
    """
    table = next((n for n in names if n.endswith(_POSITION_TABLE)), _POSITION_TABLE)
    prefix = table.removesuffix(_POSITION_TABLE).removesuffix("albert.")
    current = {}
    for name in names:
        new = name.removeprefix(prefix)
        if new.startswith(_PARTS_OF_BACKBONE):
            new = f"albert.{new}"
        # Names in conversions that are older than transformers 2.
        for old, suffix in ((".gamma", ".weight"), (".beta", ".bias")):
            if new.endswith(old):
                new = new.removesuffix(old) + suffix
        current[name] = new
    return current


def _read_weights(file):
    """Reads a file of weights, or all that an index lists."""
    read = WEIGHT_READERS[file.name.removesuffix(INDEX_SUFFIX)]
    if file.name in WEIGHT_READERS:
        return read(file)
    index = read_json(file)
    check_json(index, {"weight_map": {str: str}}, file)
    shards = sorted({*index["weight_map"].values()})
    # `with_name` refuses other folders.
    return joined([read(file.with_name(shard)) for shard in shards])


def _read_tensorflow_weights(file):
    """Reads `tf_model.h5`, whose paths are `layer/model/name/of/tensor/kernel:0`."""
    tensors = read_hdf5(file)
    names = {}
    for path in tensors.shapes:
        layer, *rest = path.split("/")
        if len(rest) < 2:
            names[path] = path  # Reported as unexpected.
        # A layer also lists the weights of other layers that it uses, such as the table.
        elif rest[1] == layer:
            names[path] = _pytorch_name(rest[1:])
    kernels = {new for old, new in names.items() if old.endswith("/kernel:0")}
    tensors = tensors.renamed(names)

    # TensorFlow stores kernels as (inputs, outputs).
    def read(name):
        return tensors.read(name).T if name in kernels else tensors.read(name)

    shapes = {
        name: shape[::-1] if name in kernels else shape
        for name, shape in tensors.shapes.items()
    }
    return StoredTensors(shapes, read)


def _pytorch_name(parts):
    *scopes, leaf = [part.replace("_._", ".") for part in parts]
    leaf = leaf.removesuffix(":0")
    names = {"kernel": "weight", "gamma": "weight", "embeddings": "weight"}
    return ".".join([*scopes, {**names, "beta": "bias"}.get(leaf, leaf)])


# Readers by file name, in order of preference.
WEIGHT_READERS = {
    "model.safetensors": read_safetensors,
    "pytorch_model.bin": read_pytorch,
    "tf_model.h5": _read_tensorflow_weights,
}


def write_config(model, head, folder, tokenizer=None, labels=None, **others):
    """Writes `config.json`, and the files of a tokenizer.

    Args:
        model: Model of this package.
        head: str, its head, or `None`.
        folder: Path.
        tokenizer: A tokenizer of this package, or `None`.
        labels: Names of the classes. Default: the model's own.
        **others: More values of the config.
    """
    config = getattr(model, "backbone", model).albert_config
    values = {
        "architectures": [architecture(model, head)],
        "model_type": "albert",
        **CONFIG_FORMAT.write(config),
        **head_values(model, head, labels),
        **others,
    }
    if tokenizer is not None:
        values["pad_token_id"] = tokenizer.pad_token_id
        values["bos_token_id"] = tokenizer.cls_token_id
        values["eos_token_id"] = tokenizer.sep_token_id
        save_vocabulary(tokenizer, folder)
        write_tokenizer_files(tokenizer, config.max_sequence_length, folder)
    write_json(folder / "config.json", values)


def architecture(model, head):
    """Returns the name of transformers' class for a model of this package."""
    if head == "pretraining" and not model.num_pair_classes:
        return "AlbertForMaskedLM"
    return next(iter(heads.foreign_head(head).architectures), "AlbertModel")


def read_options(stated, head):
    """Returns the options of a head in a config, a dict."""
    options = {}
    if keys := heads.foreign_head(head).dropout_keys:
        dropout = stated.get(keys[0], DEFAULT_DROPOUT)
        if dropout is None and len(keys) > 1:
            dropout = stated.get(keys[1], 0.0)
        check_rate(keys[0], dropout)
        options["dropout"] = dropout
    if head in LABELLED_HEADS:
        options["labels"] = _read_labels(stated)
    if stated.get("problem_type") == MULTI_LABEL and head == "sequence_classification":
        options["activation"] = "sigmoid"
    return options


def head_values(model, head, labels=None):
    """Returns the values of a config about the head of a model, a dict.

    `labels` are the names of the classes, by default the model's own.
    """
    if head is None:
        return {}
    # transformers has dropout before the sentence-pair head; Google's code has none.
    values = {"classifier_dropout_prob": getattr(model, "dropout", 0.0)}
    num_classes = getattr(model, HEADS[head].class_argument or "", 0)
    if num_classes:
        labels = labels or getattr(model, "labels", None)
        labels = labels or _numbered_labels(num_classes)
        values["id2label"] = {str(i): label for i, label in enumerate(labels)}
        values["label2id"] = {label: i for i, label in enumerate(labels)}
    if head == "sequence_classification" and is_multi_label(model):
        values["problem_type"] = MULTI_LABEL
    elif head == "sequence_classification" and num_classes == 1:
        values["problem_type"] = "regression"
    return values


def _read_labels(stated):
    """Returns the names of the classes, or `None` where transformers numbered them."""
    names = stated.get("id2label") or {}
    if not isinstance(names, dict):
        raise ValueError(
            f"`id2label` must be a dict. Received: id2label={shortened(repr(names))}."
        )
    labels = [names.get(str(number)) for number in range(len(names))]
    # Classes may be numbers, such as stars, or booleans.
    labels = [str(name) if isinstance(name, int | float) else name for name in labels]
    return None if labels == _numbered_labels(len(names)) else labels


def _numbered_labels(num_classes):
    return [f"LABEL_{number}" for number in range(num_classes)]
