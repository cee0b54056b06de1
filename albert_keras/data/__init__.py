"""Text to batches: documents, sentence pairs, packing, masking, record files."""

from albert_keras.lazy import lazy_names

_HOMES = {
    "open_corpus": "albert_keras.data.corpus",
    "read_documents": "albert_keras.data.corpus",
    "RUNNERS": "albert_keras.data.beam",
    "CHOICES": "albert_keras.data.examples",
    "PretrainingDataConfig": "albert_keras.data.examples",
    "Columns": "albert_keras.data.labelled",
    "LabelledTexts": "albert_keras.data.labelled",
    "label_ids": "albert_keras.data.labelled",
    "label_numbers": "albert_keras.data.labelled",
    "read_labelled_texts": "albert_keras.data.labelled",
    "evaluation_batches": "albert_keras.data.length_buckets",
    "make_buckets": "albert_keras.data.length_buckets",
    "one_bucket": "albert_keras.data.length_buckets",
    "training_dataset": "albert_keras.data.length_buckets",
    "MASKING": "albert_keras.data.masking",
    "pretraining_dataset": "albert_keras.data.pipeline",
    "prepare_pretraining_data": "albert_keras.data.preparation",
    "read_description": "albert_keras.data.records",
    "PretrainingDataReport": "albert_keras.data.report",
    "ONE_SENTENCE_CHUNKS": "albert_keras.data.sentence_pairs",
    "SENTENCE_PAIRS": "albert_keras.data.sentence_pairs",
    "split_sentences": "albert_keras.data.sentences",
    "TRUNCATIONS": "albert_keras.data.sequences",
    "Examples": "albert_keras.data.sequences",
    "pack_texts": "albert_keras.data.sequences",
    "split_texts": "albert_keras.data.sequences",
    "FORMATS": "albert_keras.data.sources",
    "ENCODING_ERRORS": "albert_keras.data.text_files",
    "read_lines": "albert_keras.data.text_files",
}

__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
