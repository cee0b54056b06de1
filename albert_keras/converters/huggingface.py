"""Hugging Face folders: `config.json` and `model.safetensors`."""

import json
import pathlib

from albert_keras.config import AlbertConfig
from albert_keras.converters import google
from albert_keras.converters.name_table import (
    ATTENTION,
    FEED_FORWARD,
    Row,
    translate_activation,
    translate_config,
)

CONFIG_NAMES = {**google.CONFIG_NAMES, "layer_norm_eps": "layer_norm_epsilon"}
# What transformers writes beside the architecture.
IGNORED_CONFIG_NAMES = (
    *google.IGNORED_CONFIG_NAMES,
    "_name_or_path",
    "add_cross_attention",
    "architectures",
    "bos_token_id",
    "classifier_dropout_prob",
    "dtype",
    "eos_token_id",
    "finetuning_task",
    "id2label",
    "label2id",
    "model_type",
    "output_past",
    "pad_token_id",
    "position_embedding_type",
    "problem_type",
    "tie_word_embeddings",
    "torch_dtype",
    "transformers_version",
    "use_cache",
)
# "gelu" is exact here, and Google's tanh form has its own names.
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}

_LAYER = "albert.encoder.albert_layer_groups.{group}.albert_layers.{inner}"


def _dense(source, target):
    # PyTorch keeps kernels as (outputs, inputs).
    return (
        Row(f"{source}.weight", f"{target}/kernel", transposed=True),
        Row(f"{source}.bias", f"{target}/bias"),
    )


def _norm(source, target):
    return (
        Row(f"{source}.weight", f"{target}/gamma"),
        Row(f"{source}.bias", f"{target}/beta"),
    )


def _table(source, target):
    return (
        Row(f"albert.embeddings.{source}.weight", f"embedding/{target}/embeddings"),
    )


BACKBONE_ROWS = (
    *_table("word_embeddings", "token_embedding"),
    *_table("token_type_embeddings", "segment_embedding"),
    *_table("position_embeddings", "position_embedding"),
    *_norm("albert.embeddings.LayerNorm", "embedding/layer_norm"),
    *_dense("albert.encoder.embedding_hidden_mapping_in", "embedding/projection"),
    *_dense(f"{_LAYER}.attention.query", f"{ATTENTION}/query"),
    *_dense(f"{_LAYER}.attention.key", f"{ATTENTION}/key"),
    *_dense(f"{_LAYER}.attention.value", f"{ATTENTION}/value"),
    *_dense(f"{_LAYER}.attention.dense", f"{ATTENTION}/projection"),
    *_norm(f"{_LAYER}.attention.LayerNorm", f"{ATTENTION}/layer_norm"),
    *_dense(f"{_LAYER}.ffn", f"{FEED_FORWARD}/intermediate"),
    *_dense(f"{_LAYER}.ffn_output", f"{FEED_FORWARD}/projection"),
    *_norm(f"{_LAYER}.full_layer_layer_norm", f"{FEED_FORWARD}/layer_norm"),
    *_dense("albert.pooler", "pooler"),
)
HEAD_ROWS = {
    "pretraining": (
        *_dense("predictions.dense", "mlm/transform"),
        *_norm("predictions.LayerNorm", "mlm/layer_norm"),
        Row("predictions.bias", "mlm/output_bias"),
        *_dense("sop_classifier.classifier", "sop"),
    ),
    "sequence_classification": _dense("classifier", "logits"),
    "token_classification": _dense("classifier", "logits"),
    "multiple_choice": _dense("classifier", "logits"),
    "question_answering": _dense("qa_outputs", "logits"),
}
# The tensor whose length is the number of classes of the head.
CLASSES_NAME = {
    "pretraining": "sop_classifier.classifier.bias",
    "sequence_classification": "classifier.bias",
    "token_classification": "classifier.bias",
}
# What `config.json` calls the class of the model: three have tensors of the same names.
ARCHITECTURES = {
    "AlbertForPreTraining": "pretraining",
    "AlbertForMaskedLM": "pretraining",
    "AlbertForSequenceClassification": "sequence_classification",
    "AlbertForTokenClassification": "token_classification",
    "AlbertForMultipleChoice": "multiple_choice",
    "AlbertForQuestionAnswering": "question_answering",
}
# Copies of tied or constant tensors that older versions of transformers wrote.
DUPLICATE_NAMES = (
    "albert.embeddings.position_ids",
    "predictions.decoder.weight",
    "predictions.decoder.bias",
)


def find_checkpoint(path):
    """Returns the folder if `path` is one with `model.safetensors`, or `None`."""
    path = pathlib.Path(path)
    return path if (path / "model.safetensors").is_file() else None


def _read_json(checkpoint):
    file = checkpoint / "config.json"
    if not file.is_file():
        raise FileNotFoundError(
            f"A Hugging Face folder needs its config. Received: no {file}. "
            "Put `config.json` beside `model.safetensors`, or pass `config`."
        )
    return json.loads(file.read_text("utf-8"))


def read_config(checkpoint):
    """Returns the `AlbertConfig` of a folder's `config.json`.

    Raises:
        FileNotFoundError: If it is absent.
        ValueError: If it holds a key or an activation that is not understood.
    """
    values = translate_config(
        _read_json(checkpoint),
        CONFIG_NAMES,
        IGNORED_CONFIG_NAMES,
        source="Hugging Face",
    )
    # transformers leaves out what equals its own defaults.
    values["activation"] = translate_activation(
        values.get("activation", "gelu_new"), ACTIVATIONS, source="Hugging Face"
    )
    return AlbertConfig.from_dict(values)


def read_head(checkpoint):
    """Returns the head that `config.json` states, or `None`."""
    names = _read_stated(checkpoint).get("architectures") or []
    return next((ARCHITECTURES[name] for name in names if name in ARCHITECTURES), None)


def read_head_options(checkpoint, head):
    """Returns the head's options that `config.json` states, such as its dropout."""
    if head in ("pretraining", "question_answering"):
        # transformers has no dropout before the latter.
        return {}
    dropout = _read_stated(checkpoint).get("classifier_dropout_prob")
    # null and absent mean transformers' own default.
    return {"dropout": 0.1 if dropout is None else dropout}


def _read_stated(checkpoint):
    # Absent where the caller passed a config of their own.
    return _read_json(checkpoint) if (checkpoint / "config.json").is_file() else {}


def read_tensors(checkpoint):
    """Returns a dict from tensor name to array."""
    import safetensors.numpy

    file = checkpoint / "model.safetensors"
    try:
        tensors = safetensors.numpy.load_file(file)
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"The weights cannot be read. Received: '{file}': {error}."
        ) from error
    return {name: v for name, v in tensors.items() if name not in DUPLICATE_NAMES}
