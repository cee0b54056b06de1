"""The report: counts that add up, rates that follow from them."""

import dataclasses
import json

import numpy as np
import pytest

from albert_keras.pretraining.documents import Documents
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.report import (
    PretrainingDataReport,
    count_documents,
    count_examples,
)
from albert_keras.pretraining.stream import StoredVocabulary

# Of the 13 tokens, the second and the last are unknown: twice the id, plus 1 at words.
TOKENIZED = Documents(
    np.array([11, 7, 9, 20, 21, 30, 31, 40, 41, 50, 51, 60, 6]),
    np.array([0, 1, 2, 7, 13]),
    np.array([0, 1, 2, 4]),
)
ENCODER = StoredVocabulary(
    {"vocabulary_size": 53, "special_token_ids": [0, 3, 2, 1, 4]}
)


def make_arrays(num_examples):
    padding_mask = np.zeros((num_examples, 11), np.int32)
    padding_mask[:, :8] = 1
    padding_mask[0] = 1
    mask_weights = np.zeros((num_examples, 4), np.float32)
    mask_weights[:, 0] = 1.0
    return {
        "token_ids": 5 * padding_mask,
        "padding_mask": padding_mask,
        "mask_weights": mask_weights,
        "sop_label": np.arange(num_examples, dtype=np.int32) % 2,
    }


@pytest.mark.parametrize(
    ("values", "one_sentence"),
    [
        ({}, 2),
        ({"sentence_pairs": "nsp"}, 2),
        ({"sentence_pairs": "none"}, 0),
        ({"one_sentence_chunks": "random_document"}, 0),
    ],
)
def test_documents_that_give_no_example(values, one_sentence):
    documents = [["a"], [" "], ["b"], ["c", "d"], ["", " "]]
    config = PretrainingDataConfig(**values)
    assert count_documents(documents, TOKENIZED, 0, ENCODER, config) == {
        "num_documents": 5,
        "dropped_documents": {"no_tokens": 2, "one_sentence": one_sentence},
        "num_corpus_tokens": 13,
        "num_unknown": 2,
    }


def test_counts_add_up():
    documents = [["a"], ["b"], ["c", "d"], [" "]]
    config = PretrainingDataConfig()
    parts = [
        count_documents(documents, TOKENIZED, 3, ENCODER, config),
        {"replaced_bytes": 17, "cut_documents": 1},
        count_documents(documents[:3], TOKENIZED, 0, ENCODER, config),
        {"replaced_bytes": 2, "num_skipped_chunks": 6},
        count_examples(make_arrays(5), np.array([5, 2, 0]), config),
        count_examples(make_arrays(13), np.array([9, 2, 0]), config),
    ]
    report = PretrainingDataReport.of_counts(parts)
    found = json.loads(json.dumps(report.to_dict()))
    assert found == {
        "num_documents": 10,
        "cut_documents": 1,
        "dropped_documents": {"no_tokens": 4, "one_sentence": 4},
        "replaced_bytes": 19,
        "num_corpus_tokens": 26,
        "num_unknown": 4,
        "num_skipped_chunks": 6,
        "num_examples": 18,
        "num_tokens": 150,
        "num_positions": 198,
        "num_pairs": 18,
        "label_counts": {"in order": 10, "swapped": 8},
        "num_predictions": 18,
        "run_counts": [14, 4, 0],
        # 8 tokens of 11 are between 11 and 12 sixteenths.
        "length_counts": [0] * 11 + [16, 0, 0, 0, 2],
        "unknown_rate": 4 / 26,
        "real_token_share": 150 / 198,
        "label_shares": {"in order": 10 / 18, "swapped": 8 / 18},
        "masked_rate": 18 / 150,
        "run_shares": [14 / 18, 4 / 18, 0.0],
    }
    assert PretrainingDataReport.from_dict(found) == report
    assert PretrainingDataReport.of_counts([dataclasses.asdict(report)]) == report


def test_pairs_of_filled_rows():
    sop_weight = np.zeros((7, 3), np.float32)
    sop_weight[:, 0] = sop_weight[2:4, 1] = 1
    labels = (sop_weight * [1, 0, 1]).astype(np.int32)
    filled = {**make_arrays(7), "sop_weight": sop_weight, "sop_label": labels}
    config = PretrainingDataConfig(sentence_pairs="ternary")
    counts = count_examples(filled, np.array([1]), config)
    assert (counts["num_examples"], counts["num_pairs"]) == (7, 9)
    assert counts["label_counts"] == {"next": 2, "previous": 7, "random": 0}
