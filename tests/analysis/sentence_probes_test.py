"""Linear probes of sentence pairs."""

import re

import numpy as np
import pytest

from albert_keras import sample
from albert_keras.analysis import probe_sentence_pairs, sentence_probes
from albert_keras.models import AlbertBackbone
from albert_keras.pretraining import PretrainingDataConfig, prepare_pretraining_data
from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece
from tests.helpers import make_config


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A token store of documents whose rows are cut as one text each."""
    texts = sample.CORPUS.read_text("utf-8").split("\n\n")[:41]
    # Short sentences, of which two fit a row.
    documents = [re.findall(r"\S+ \S+", text) for text in texts]
    sentences = [sentence for document in documents for sentence in document]
    tokenizer = AlbertTokenizer(train_sentence_piece(sentences, 61))
    config = PretrainingDataConfig(sequence_length=43, sentence_pairs="none")
    folder = tmp_path_factory.mktemp("tokens")
    prepare_pretraining_data(documents, tokenizer, folder, config, dynamic=True)
    return folder


@pytest.mark.parametrize("objective", ["nsp", "sop"])
def test_pairs_are_drawn_with_the_labels_of_their_task(store, objective):
    backbone = AlbertBackbone(**make_config(max_sequence_length=43).to_dict())
    results = probe_sentence_pairs(backbone, store, store, objective, 31, 23)
    assert (results["num_train"], results["num_held_out"]) == (31, 23)
    assert 0.5 <= results["majority_accuracy"] < 1
    assert 0 <= results["accuracy"] <= 1


def test_what_the_pooled_output_tells_is_found(store, monkeypatch):
    def pooled_pairs(backbone, source, objective, num_pairs):
        labels = np.arange(num_pairs) % 2
        return labels[:, None] * np.ones((1, 5), np.float32), labels

    monkeypatch.setattr(sentence_probes, "_pooled_pairs", pooled_pairs)
    results = probe_sentence_pairs(None, store, store, "sop", 31, 22)
    assert (results["accuracy"], results["majority_accuracy"]) == (1, 0.5)


def test_records_are_refused(tmp_path):
    with pytest.raises(ValueError, match="with --dynamic"):
        probe_sentence_pairs(None, tmp_path, tmp_path, "sop")
