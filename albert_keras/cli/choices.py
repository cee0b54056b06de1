"""Names that options accept, of registries whose modules import Keras.

`--help` and wrong usage must not wait for it. `tests/cli/choices_test.py` compares each
with its registry.
"""

# Of `models.HEADS`.
HEADS = (
    *("pretraining", "sequence_classification", "early_exit"),
    *("token_classification", "question_answering", "joint_question_answering"),
    *("multiple_choice", "text_embedding"),
)

# `converters.SOURCES`, and of `converters.CHECKPOINT_FORMATS`.
SOURCES = (
    *("keras", "sentence-transformers", "huggingface"),
    *("keras_hub", "saved_model", "albert_zh", "google"),
)
CHECKPOINT_FORMATS = (
    *("keras", "keras_hub", "google", "huggingface"),
    "sentence-transformers",
)

# Of `export.EXPORTERS`.
EXPORT_FORMATS = ("saved_model", "serving", "tflite", "onnx")
