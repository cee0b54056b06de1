"""The report: counts that add up, rates that follow from them."""

import json

import numpy as np

from albert_keras.data.documents import TokenizedDocument
from albert_keras.data.examples import ExampleBatch
from albert_keras.data.report import PretrainingDataReport


def make_batch(num_examples):
    padding_mask = np.zeros((num_examples, 11), np.int32)
    padding_mask[:, :8] = 1
    mask_weights = np.zeros((num_examples, 4), np.float32)
    mask_weights[:, 0] = 1.0
    sop_label = np.arange(num_examples, dtype=np.int32) % 2
    arrays = {
        "padding_mask": padding_mask,
        "mask_weights": mask_weights,
        "sop_label": sop_label,
    }
    return ExampleBatch(arrays, np.array([num_examples, 2, 0]), num_skipped=3)


def test_counts_add_up():
    report = PretrainingDataReport()
    assert report.rates == {}
    documents = [
        TokenizedDocument(np.arange(n), np.arange(n + 1)) for n in (0, 1, 1, 5, 6, 7)
    ]
    report.add_documents(documents, min_sentences=2)
    report.add_documents(documents[:2], min_sentences=1)
    report.add_examples(make_batch(5))
    report.add_examples(make_batch(13))
    found = json.loads(json.dumps(report.to_dict()))
    assert found == {
        "num_documents": 8,
        "dropped_documents": {"no_tokens": 2, "one_sentence": 2},
        "num_skipped_chunks": 6,
        "num_examples": 18,
        "num_tokens": 144,
        "num_positions": 198,
        "num_positives": 8,
        "num_predictions": 18,
        "run_counts": [18, 4, 0],
        "real_token_share": 144 / 198,
        "label_rate": 8 / 18,
        "masked_rate": 18 / 144,
    }
