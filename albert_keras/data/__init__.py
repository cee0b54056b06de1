"""Text to batches: documents, sentence pairs, packing, masking, record files."""

from albert_keras.data.documents import read_documents
from albert_keras.data.examples import PretrainingDataConfig
from albert_keras.data.labelled import (
    LabelledTexts,
    label_ids,
    labelled_dataset,
    read_labelled_texts,
)
from albert_keras.data.masking import MASKING
from albert_keras.data.pipeline import pretraining_dataset
from albert_keras.data.preparation import prepare_pretraining_data
from albert_keras.data.records import read_description
from albert_keras.data.report import PretrainingDataReport
from albert_keras.data.sentence_pairs import ONE_SENTENCE_CHUNKS, SENTENCE_PAIRS
from albert_keras.data.sentences import split_sentences
from albert_keras.data.text_files import read_lines

__all__ = [
    "MASKING",
    "ONE_SENTENCE_CHUNKS",
    "SENTENCE_PAIRS",
    "LabelledTexts",
    "PretrainingDataConfig",
    "PretrainingDataReport",
    "label_ids",
    "labelled_dataset",
    "prepare_pretraining_data",
    "pretraining_dataset",
    "read_description",
    "read_documents",
    "read_labelled_texts",
    "read_lines",
    "split_sentences",
]
