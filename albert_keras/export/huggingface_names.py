"""Hugging Face's names of inputs and outputs of ONNX models, and the files for it."""

import functools

import tensorflow as tf

from albert_keras.converters import huggingface
from albert_keras.export.signatures import serve_features
from albert_keras.models.copies import on_backbone
from albert_keras.system.files import read_json, write_json
from albert_keras.tokenizers.loading import check_vocabulary_size

# Where transformers.js and Optimum look for it.
MODEL_FILE = "onnx/model.onnx"

# Hugging Face's names by those of this package. Other outputs have the same name.
NAMES = {
    "token_ids": "input_ids",
    "padding_mask": "attention_mask",
    "segment_ids": "token_type_ids",
    "sequence_output": "last_hidden_state",
    "pooled_output": "pooler_output",
    "mlm_logits": "logits",
}
# Outputs that Hugging Face's models do not have.
WITHOUT_NAME = ("probabilities", "score", "sop_logits")
# By head, what differs from a checkpoint's config. transformers.js (4.3) has no ALBERT
# tagger; BERT's takes the same inputs.
CONFIG_VALUES = {
    "pretraining": {"architectures": ["AlbertForMaskedLM"]},
    "token_classification": {
        "architectures": ["BertForTokenClassification"],
        "model_type": "bert",
    },
}


def renamed_function(spec, **sizes):
    """Returns a function of int64 tensors by transformers' names, and their specs.

    Its outputs are transformers': logits for a classifier, whatever its activation, and
    logits of all positions for a masked language model. `sizes` are arguments of
    `serve_features`.
    """
    call = None
    if spec.output_name == "probabilities":
        model = on_backbone(spec.model, spec.backbone, activation=None)
        model.set_weights(spec.model.get_weights())
        spec = model.export_spec()
    elif spec.kind == "embedding":
        call = functools.partial(_embed, spec.model)
    serve = serve_features(spec, call=call, **sizes)
    _, inputs = serve.structured_input_signature
    names = {name: NAMES[name] for name in NAMES if name in inputs}
    specs = {
        names[name]: tf.TensorSpec(inputs[name].shape, tf.int64, names[name])
        for name in names
    }

    def renamed(**features):
        ids = {name: tf.cast(features[names[name]], tf.int32) for name in names}
        if "mask_positions" in inputs:
            shape = tf.shape(ids["token_ids"])
            ids["mask_positions"] = tf.broadcast_to(tf.range(shape[1]), shape)
        outputs = serve(**ids)
        return {NAMES.get(n, n): outputs[n] for n in outputs if n not in WITHOUT_NAME}

    return renamed, specs


def _embed(model, features):
    """Returns the outputs of an embedder by Optimum's names."""
    tokens = model.backbone(features, training=False)["sequence_output"]
    embedding = model.pool(tokens, features["padding_mask"])
    return {"token_embeddings": tokens, "sentence_embedding": embedding}


def write_beside(folder, spec, head, tokenizer):
    """Writes `config.json` and a tokenizer's files for transformers."""
    if tokenizer is not None:
        check_vocabulary_size(tokenizer, spec.backbone.vocabulary_size)
    # By default transformers.js looks for a quantized model in a browser.
    others = {"transformers.js_config": {"dtype": "fp32"}} | CONFIG_VALUES.get(head, {})
    labels = spec.labels
    huggingface.write_config(spec.model, head, folder, tokenizer, labels, **others)
    file = folder / "tokenizer_config.json"
    stated = read_json(file) if file.is_file() else {}
    if stated.get("tokenizer_class") == "PreTrainedTokenizerFast":
        # transformers.js returns token types only for classes that it knows.
        write_json(file, {**stated, "tokenizer_class": "AlbertTokenizer"})
