"""Choices of options, copied from registries whose modules import Keras.

`--help` must not wait for Keras. `tests/cli/choices_test.py` compares the copies with the
registries.
"""

# `models.HEADS`
HEADS = (
    *("pretraining", "sequence_classification", "early_exit"),
    *("token_classification", "question_answering", "joint_question_answering"),
    *("multiple_choice", "text_embedding"),
)

# `converters.SOURCES` and `converters.CHECKPOINT_FORMATS`
SOURCES = (
    *("keras", "sentence-transformers", "huggingface"),
    *("keras_hub", "saved_model", "albert_zh", "google"),
)
CHECKPOINT_FORMATS = (
    *("keras", "keras_hub", "google", "huggingface"),
    "sentence-transformers",
)

# `export.EXPORTERS`
EXPORT_FORMATS = ("saved_model", "serving", "tflite", "onnx")
