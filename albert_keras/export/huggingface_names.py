"""ONNX models as Hugging Face's: their inputs and outputs, and the files beside them."""

import keras
import tensorflow as tf

from albert_keras.converters import huggingface
from albert_keras.export.signatures import check_vocabulary, serve_features
from albert_keras.models.classes import activation_of
from albert_keras.models.copies import on_backbone

# Where transformers.js and Optimum look for it.
MODEL_FILE = "onnx/model.onnx"

# Theirs by ours. Other outputs are left out.
INPUTS = {
    "token_ids": "input_ids",
    "padding_mask": "attention_mask",
    "segment_ids": "token_type_ids",
}
OUTPUTS = {
    "sequence_output": "last_hidden_state",
    "pooled_output": "pooler_output",
    "mlm_logits": "logits",
    "logits": "logits",
    "start_logits": "start_logits",
    "end_logits": "end_logits",
}
# By head, what differs from a checkpoint. transformers.js (4.3) has no tagger of ALBERT;
# those of BERT take the same inputs.
CONFIG_VALUES = {
    "pretraining": {"architectures": ["AlbertForMaskedLM"]},
    "token_classification": {
        "architectures": ["BertForTokenClassification"],
        "model_type": "bert",
    },
}


def serve_by_their_names(model, **sizes):
    """Returns a concrete function from int64 inputs to outputs, as transformers has them.

    A masked language model answers at every position. `sizes` are those of
    `serve_features`.
    """
    is_classifier = hasattr(model, "num_classes")
    if is_classifier and activation_of(model) is not keras.activations.linear:
        probabilities = model
        model = on_backbone(model, model.backbone, activation=None)
        model.set_weights(probabilities.get_weights())
    serve = serve_features(model, **sizes)
    _, ours = serve.structured_input_signature
    specs = {
        theirs: tf.TensorSpec(ours[name].shape, tf.int64, theirs)
        for name, theirs in INPUTS.items()
        if name in ours
    }

    @tf.function(autograph=False)
    def renamed(**features):
        inputs = {
            name: tf.cast(features[theirs], tf.int32)
            for name, theirs in INPUTS.items()
            if theirs in features
        }
        if "mask_positions" in ours:
            shape = tf.shape(inputs["token_ids"])
            inputs["mask_positions"] = tf.broadcast_to(tf.range(shape[1]), shape)
        outputs = serve(**inputs).items()
        return {OUTPUTS[name]: value for name, value in outputs if name in OUTPUTS}

    return renamed.get_concrete_function(**specs)


def write_beside(folder, model, head, labels, tokenizer):
    """Writes `config.json` and a tokenizer's files, as for transformers."""
    if tokenizer is not None:
        check_vocabulary(model, tokenizer)
    # In a browser transformers.js looks for a quantized model by default.
    others = {
        "transformers.js_config": {"dtype": "fp32"},
        **CONFIG_VALUES.get(head, {}),
    }
    huggingface.write_config(model, head, folder, tokenizer, labels, **others)
