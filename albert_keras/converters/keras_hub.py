"""keras-hub's own ALBERT: presets on disk, and models in memory.

Its models have Google's gelu, the epsilon 1e-12, one dropout rate for all layers, and no
sentence-pair head. The layer norm in its masked-word head has the fixed epsilon 1e-5;
Google's and this package's have 1e-12, so logits differ slightly with the same weights.
"""

import contextlib
import dataclasses
import functools
import tempfile
import warnings

import keras
import keras_hub

from albert_keras.checks import check_choice, check_json, check_rate
from albert_keras.converters import stored_tensors
from albert_keras.converters.checkpoint import Checkpoint
from albert_keras.converters.config_format import ConfigFormat
from albert_keras.converters.name_table import (
    ATTENTION,
    FEED_FORWARD,
    dense_rows,
    norm_rows,
    table_row,
    with_merged_heads,
)
from albert_keras.converters.weight_files import read_keras_weights, weights_of_preset
from albert_keras.models.classifier import ACTIVATIONS
from albert_keras.presets.preset_files import registered_name
from albert_keras.system.files import read_json
from albert_keras.tokenizers import AlbertTokenizer

_CONFIG_NAMES = (
    *("vocabulary_size", "num_layers", "num_heads", "embedding_dim", "hidden_dim"),
    *("intermediate_dim", "num_groups", "num_inner_repetitions", "dropout"),
    *("max_sequence_length", "num_segments"),
)
CONFIG_FORMAT = ConfigFormat(
    "keras-hub",
    {name: name for name in _CONFIG_NAMES},
    activations={"gelu_tanh": "gelu_tanh"},
    activation="gelu_tanh",
    always_projects=True,
)

_LAYER = "group_{group}_inner_layer_{inner}"
_ATTENTION = f"{_LAYER}/self_attention_layer"
_FFN = f"{_LAYER}/feedforward"
BACKBONE_ROWS = (
    *table_row("token_embedding/embeddings", "token_embedding"),
    *table_row("segment_embedding/embeddings", "segment_embedding"),
    *table_row("position_embedding/embeddings", "position_embedding"),
    *norm_rows("embeddings_layer_norm", "embedding/layer_norm"),
    *dense_rows("embedding_projection", "embedding/projection"),
    *dense_rows(f"{_ATTENTION}/query", f"{ATTENTION}/query"),
    *dense_rows(f"{_ATTENTION}/key", f"{ATTENTION}/key"),
    *dense_rows(f"{_ATTENTION}/value", f"{ATTENTION}/value"),
    *dense_rows(f"{_ATTENTION}/attention_output", f"{ATTENTION}/projection"),
    *norm_rows(f"{_LAYER}/self_attention_layer_norm", f"{ATTENTION}/layer_norm"),
    *dense_rows(f"{_FFN}_intermediate_dense", f"{FEED_FORWARD}/intermediate"),
    *dense_rows(f"{_FFN}_output_dense", f"{FEED_FORWARD}/projection"),
    *norm_rows(f"{_FFN}_layer_norm", f"{FEED_FORWARD}/layer_norm"),
    *dense_rows("pooled_dense", "pooler"),
)

# Epsilon of the layer norm in the masked-word head, without an argument in keras-hub.
MASKED_WORDS_EPSILON = 1e-5


# By head, `None` for a backbone.
MODEL_CLASSES = {
    None: keras_hub.models.AlbertBackbone,
    "pretraining": keras_hub.models.AlbertMaskedLM,
    "sequence_classification": keras_hub.models.AlbertTextClassifier,
}


class KerasHubModel(Checkpoint):
    """The folder of a preset of keras-hub."""

    source = "keras_hub"
    layouts = ("keras_hub",)
    config_format = CONFIG_FORMAT
    backbone_rows = BACKBONE_ROWS

    @staticmethod
    def find_files(path):
        stated = _registered_name(path / "config.json")
        if not stated.startswith("keras_hub>"):
            return None
        expected = keras.saving.get_registered_name(keras_hub.models.AlbertBackbone)
        if stated != expected:
            rule = f"A preset of keras-hub must be of {expected}."
            raise ValueError(f"{rule} Received: '{path}' of {stated}.")
        return path

    def read_config(self):
        config = CONFIG_FORMAT.read(self._stated("config.json"))
        # keras-hub has the same rate for attention scores.
        return dataclasses.replace(config, attention_dropout=config.dropout)

    @functools.cached_property
    def stated_head(self):
        """The head of the preset's task, or `None`."""
        names = {
            keras.saving.get_registered_name(model_class): head
            for head, model_class in MODEL_CLASSES.items()
        }
        name = _registered_name(self.files / "task.json")
        if name not in ("None", *names):
            raise ValueError(
                f"A preset's task must be one of {', '.join(names)}. Received: "
                f"'{self}/task.json' of {name[:80]}. Without this file its backbone is "
                "loaded."
            )
        return names.get(name)

    def head_options(self, head):
        """Returns the dropout and the activation of a classifier."""
        if head == "pretraining":
            _warn_of_masked_words(left_out=[])
        if head != "sequence_classification":
            return {}
        stated = self._stated("task.json")
        check_rate("dropout", stated.get("dropout"))
        check_choice("activation", stated.get("activation"), (None, *ACTIVATIONS))
        return {"dropout": stated["dropout"], "activation": stated.get("activation")}

    def _stated(self, file_name):
        """Returns the config in a file of the preset."""
        file = self.files / file_name
        content = read_json(file)
        check_json(content, {"config": dict}, file)
        return content["config"]

    def read_tensors(self):
        """Returns the variables as `StoredTensors`, attention heads merged into one axis.

        keras-hub's own code loads the files of a preset into a model of the stated sizes,
        once they are known to hold plain arrays of these sizes.
        """
        model = self._load_hub_model()
        values = {variable.path: variable for variable in model.weights}
        shapes = {path: tuple(variable.shape) for path, variable in values.items()}
        tensors = stored_tensors.StoredTensors(
            shapes, lambda path: keras.ops.convert_to_numpy(values[path])
        )
        return with_merged_heads(tensors, "/self_attention_layer/")

    def _load_hub_model(self):
        """Loads keras-hub's model from the weights of the preset."""
        config, head = self.read_config(), self.stated_head
        file, parts = weights_of_preset(self.files)
        tensors = stored_tensors.joined([*map(read_keras_weights, parts)])
        stored_tensors.check_config_sizes(config, tensors, self)
        sizes = CONFIG_FORMAT.write(config)
        model = keras_hub.models.AlbertBackbone(**sizes, dtype="float32")
        with stored_tensors.readable(file):
            model.load_weights(file)
        task_file = self.files / "task.weights.h5"
        if head is None or not task_file.is_file():
            return model
        options, tensors = {}, read_keras_weights(task_file)
        if head == "sequence_classification":
            num_classes = self._stated("task.json").get("num_classes")
            stored_tensors.check_bias("num_classes", num_classes, tensors, task_file)
            options["num_classes"] = num_classes
        with stored_tensors.readable(task_file):
            model = MODEL_CLASSES[head](model, **options, compile=False)
            model.load_task_weights(task_file)
        return model

    @staticmethod
    def write(model, head, folder, tokenizer=None):
        """Writes a preset that keras-hub's own classes load.

        keras-hub has no sentence-pair head. Its tokenizer neither lower-cases nor strips
        accents.
        """
        backbone = model if head is None else model.backbone
        config = backbone.albert_config
        values = CONFIG_FORMAT.write(config)
        if config.attention_dropout_rate != config.dropout:
            raise ValueError(
                "keras-hub's models must have one rate of dropout. Received: "
                f"dropout={config.dropout}, attention_dropout="
                f"{config.attention_dropout}. Change them by `change_architecture`."
            )
        left_out = [v for v in model.weights if v.path.startswith("sop/")]
        if head == "pretraining":
            _warn_of_masked_words(left_out)
        tensors = KerasHubModel.tensors_of(model, head, left_out)
        backbone = keras_hub.models.AlbertBackbone(**values)
        hub_model = _make_hub_model(model, head, backbone, tokenizer)
        for variable in hub_model.weights:
            variable.assign(tensors[variable.path].reshape(variable.shape))
        hub_model.save_to_preset(str(folder))
        if head is None and tokenizer is not None:
            _own_tokenizer(tokenizer).save_to_preset(str(folder))


@contextlib.contextmanager
def on_disk(path):
    """Yields a path; for a model of keras-hub, a temporary folder with its preset."""
    if not isinstance(path, tuple(MODEL_CLASSES.values())):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        path.save_to_preset(folder)
        yield folder


def _registered_name(file):
    # Presets from when keras-hub was called keras-nlp keep that name.
    return str(registered_name(file)).replace("keras_nlp>", "keras_hub>")


def _make_hub_model(model, head, backbone, tokenizer):
    """Returns keras-hub's model on its backbone, with a preprocessor if possible."""
    if head is None:
        return backbone
    options = {}
    if head == "sequence_classification":
        names = ("num_classes", "dropout", "activation")
        options = {name: getattr(model, name) for name in names}
    if tokenizer is not None:
        options["preprocessor"] = MODEL_CLASSES[head].preprocessor_cls(
            _own_tokenizer(tokenizer), sequence_length=backbone.max_sequence_length
        )
    return MODEL_CLASSES[head](backbone, **options)


def _warn_of_masked_words(left_out):
    names = ", ".join(variable.path for variable in left_out)
    warnings.warn(
        "keras-hub's masked-word head normalizes with an epsilon of 1e-5, ALBERT's with "
        "one of 1e-12. With the same weights, logits differ slightly."
        + (f" It has no sentence-pair head; left out: {names}." if names else ""),
        stacklevel=4,
    )


def _own_tokenizer(tokenizer):
    if not isinstance(tokenizer, AlbertTokenizer):
        raise ValueError(
            "keras-hub's ALBERT must have a SentencePiece tokenizer. "
            f"Received: {type(tokenizer).__name__}. Save the model without it."
        )
    return keras_hub.models.AlbertTokenizer(proto=tokenizer.encoder.proto)
