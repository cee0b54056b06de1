"""ONNX models as Hugging Face's: their inputs and outputs, and the files beside them."""

import functools

import keras
import tensorflow as tf

from albert_keras.converters import huggingface
from albert_keras.export.signatures import check_vocabulary, serve_features
from albert_keras.models import AlbertTextEmbedder
from albert_keras.models.classes import activation_of
from albert_keras.models.copies import on_backbone
from albert_keras.system.files import read_json, write_json

# Where transformers.js and Optimum look for it.
MODEL_FILE = "onnx/model.onnx"

# Theirs by ours. Other outputs have the same name, but for those that they have not.
NAMES = {
    "token_ids": "input_ids",
    "padding_mask": "attention_mask",
    "segment_ids": "token_type_ids",
    "sequence_output": "last_hidden_state",
    "pooled_output": "pooler_output",
    "mlm_logits": "logits",
}
OURS_ALONE = ("probabilities", "score", "sop_logits")
# By head, what differs from a checkpoint. transformers.js (4.3) has no tagger of ALBERT;
# those of BERT take the same inputs.
CONFIG_VALUES = {
    "pretraining": {"architectures": ["AlbertForMaskedLM"]},
    "token_classification": {
        "architectures": ["BertForTokenClassification"],
        "model_type": "bert",
    },
}


def by_their_names(model, **sizes):
    """Returns a function of int64 tensors by transformers' names, and their specs.

    Its outputs are those of transformers: of a classifier logits, whatever its
    activation, and of a masked language model those of every position. `sizes` are those
    of `serve_features`.
    """
    is_classifier = hasattr(model, "num_classes")
    if is_classifier and activation_of(model) is not keras.activations.linear:
        weights = model.get_weights()
        model = on_backbone(model, model.backbone, activation=None)
        model.set_weights(weights)
    run = None
    if isinstance(model, AlbertTextEmbedder):
        run = functools.partial(_embed, model)
    serve = serve_features(model, run=run, **sizes)
    _, ours = serve.structured_input_signature
    specs = {
        theirs: tf.TensorSpec(ours[name].shape, tf.int64, theirs)
        for name, theirs in NAMES.items()
        if name in ours
    }

    def renamed(**features):
        known = {name: theirs for name, theirs in NAMES.items() if theirs in specs}
        ids = {name: tf.cast(features[known[name]], tf.int32) for name in known}
        if "mask_positions" in ours:
            shape = tf.shape(ids["token_ids"])
            ids["mask_positions"] = tf.broadcast_to(tf.range(shape[1]), shape)
        outputs = serve(**ids)
        return {NAMES.get(n, n): outputs[n] for n in outputs if n not in OURS_ALONE}

    return renamed, specs


def _embed(model, features):
    """Returns the outputs of an embedder, as Optimum names them."""
    tokens = model.backbone(features, training=False)["sequence_output"]
    embedding = model.pool(tokens, features["padding_mask"])
    return {"token_embeddings": tokens, "sentence_embedding": embedding}


def write_beside(folder, model, head, labels, tokenizer):
    """Writes `config.json` and a tokenizer's files, as for transformers."""
    if tokenizer is not None:
        check_vocabulary(model, tokenizer)
    # In a browser transformers.js looks for a quantized model by default.
    others = {"transformers.js_config": {"dtype": "fp32"}} | CONFIG_VALUES.get(head, {})
    huggingface.write_config(model, head, folder, tokenizer, labels, **others)
    file = folder / "tokenizer_config.json"
    stated = read_json(file) if file.is_file() else {}
    if stated.get("tokenizer_class") == "PreTrainedTokenizerFast":
        # transformers.js gives token types where the class is known to have them.
        write_json(file, {**stated, "tokenizer_class": "AlbertTokenizer"})
