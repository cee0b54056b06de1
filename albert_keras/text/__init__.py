"""Text files to documents or rows, and batches of rows of like length."""

from albert_keras.lazy import lazy_names

_HOMES = {
    "open_corpus": "albert_keras.text.corpus",
    "read_documents": "albert_keras.text.corpus",
    "evaluation_batches": "albert_keras.text.length_buckets",
    "make_buckets": "albert_keras.text.length_buckets",
    "one_bucket": "albert_keras.text.length_buckets",
    "training_dataset": "albert_keras.text.length_buckets",
    "split_sentences": "albert_keras.text.sentences",
    "TRUNCATIONS": "albert_keras.text.sequences",
    "Examples": "albert_keras.text.sequences",
    "pack_texts": "albert_keras.text.sequences",
    "split_texts": "albert_keras.text.sequences",
    "FORMATS": "albert_keras.text.sources",
    "ENCODING_ERRORS": "albert_keras.text.text_files",
    "read_lines": "albert_keras.text.text_files",
}

__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
