"""N-gram baselines, against counts in plain Python."""

import collections
import json
import math

import numpy as np
import pytest

from albert_keras import sample
from albert_keras.pretraining import (
    PretrainingDataConfig,
    prepare_pretraining_data,
    pretraining_validation_dataset,
)
from albert_keras.text import read_documents
from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece
from tests.runs.conftest import base, base_config, vocabulary
from tools import ngram_baselines as baselines
from tools.ngram_baselines import trigram_loss, unigram_loss

__all__ = ["base", "base_config", "vocabulary"]

VOCABULARY_SIZE, LENGTH = 400, 29


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Files of training text and of other text to predict."""
    folder = tmp_path_factory.mktemp("texts")
    documents = sample.CORPUS.read_text("utf-8").strip().split("\n\n")
    (folder / "train.txt").write_text("\n\n".join(documents[:307]))
    (folder / "held_out.txt").write_text("\n\n".join(documents[401:]))
    return folder


@pytest.fixture(scope="module")
def tokenizer():
    sentences = (s for document in read_documents(sample.CORPUS) for s in document)
    return AlbertTokenizer(train_sentence_piece(sentences, VOCABULARY_SIZE))


@pytest.fixture(scope="module")
def prepare(texts, tokenizer, tmp_path_factory):
    """Prepares one of the texts."""

    def run(name, format="tfrecord", **options):
        folder = tmp_path_factory.mktemp("data") / "set"
        options = {"dupe_factor": 1, "num_shards": 2, **options}
        config = PretrainingDataConfig(LENGTH, **options)
        prepare_pretraining_data(
            texts / f"{name}.txt", tokenizer, folder, config, format=format
        )
        return folder

    return run


@pytest.fixture(scope="module")
def store(prepare):
    return prepare("train", format="store")


@pytest.fixture(scope="module")
def held_out(prepare):
    return prepare("held_out", seed=5)


class PlainModel:
    """The model of `trigram_loss`, in dicts, of n-grams with the contexts asked for."""

    def __init__(self, sequences, tokenizer, asked):
        self.special = set(tokenizer.special_token_ids)
        self.num_ordinary = tokenizer.vocabulary_size() - len(self.special)
        self.after = [collections.defaultdict(collections.Counter) for _ in asked]
        for ids in sequences:
            for end in range(1, len(ids) + 1):
                for order in range(1, min(end, len(asked)) + 1):
                    ngram = tuple(ids[end - order : end])
                    if ngram[:-1] in asked[order - 1] and not self.special & set(ngram):
                        self.after[order - 1][ngram[:-1]][ngram[-1]] += 1
        self.discounts = []
        for after in self.after:
            counts = [c for followers in after.values() for c in followers.values()]
            once, twice = counts.count(1), counts.count(2)
            self.discounts.append((once + 1) / (once + 2 * twice + 2))

    def probability(self, ngram):
        if not ngram:
            return 1 / self.num_ordinary
        backed_off = self.probability(ngram[1:])
        followers = self.after[len(ngram) - 1].get(ngram[:-1])
        if not followers:
            return backed_off
        discount = self.discounts[len(ngram) - 1]
        kept = max(followers[ngram[-1]] - discount, 0)
        share = kept + discount * len(followers) * backed_off
        return share / sum(followers.values())


def masked_trigrams(source):
    """Returns each masked token with up to two visible tokens before it."""
    trigrams = []
    for features, labels, weights in pretraining_validation_dataset(source, 41):
        visible = features["token_ids"].numpy()
        positions = features["mask_positions"].numpy()
        targets = labels["mlm_logits"].numpy()
        for row, column in zip(*np.nonzero(weights["mlm_logits"].numpy()), strict=True):
            position = positions[row, column]
            before = visible[row, max(0, position - 2) : position].tolist()
            trigrams.append((*before, int(targets[row, column])))
    return trigrams


def plain_loss(sequences, source, tokenizer, order):
    ngrams = [trigram[-order:] for trigram in masked_trigrams(source)]
    special = set(tokenizer.special_token_ids)
    asked = [
        {
            ngram[-size:-1]
            for ngram in ngrams
            if len(ngram) >= size and not special & set(ngram[-size:-1])
        }
        for size in range(1, order + 1)
    ]
    model = PlainModel(sequences, tokenizer, asked)
    return np.mean([-math.log(model.probability(ngram)) for ngram in ngrams])


@pytest.mark.parametrize(("order", "loss"), [(1, unigram_loss), (3, trigram_loss)])
def test_losses_equal_those_of_plain_python(
    texts, store, held_out, tokenizer, order, loss
):
    documents = [
        [token_id for sentence in document for token_id in tokenizer(sentence)]
        for document in read_documents(texts / "train.txt")
    ]
    expected = plain_loss(documents, held_out, tokenizer, order)
    assert loss(store, held_out, tokenizer) == pytest.approx(expected, rel=1e-9)


def test_counts_do_not_depend_on_the_merging(store, held_out, tokenizer, monkeypatch):
    expected = trigram_loss(store, held_out, tokenizer)
    monkeypatch.setattr(baselines, "_MAX_WAITING", 97)
    assert trigram_loss(store, held_out, tokenizer) == pytest.approx(expected, 1e-12)


def test_records_are_restored_to_text(prepare, held_out, tokenizer):
    records = prepare("train", masked_rate=0.4)
    segments, num_masked = [], 0
    for features, labels, weights in pretraining_validation_dataset(records, 53):
        token_ids = features["token_ids"].numpy()
        num_masked += (token_ids == tokenizer.mask_token_id).sum()
        positions = features["mask_positions"].numpy()
        targets = labels["mlm_logits"].numpy()
        for row, column in zip(*np.nonzero(weights["mlm_logits"].numpy()), strict=True):
            token_ids[row, positions[row, column]] = targets[row, column]
        segments += token_ids.tolist()
    assert num_masked > 1000
    expected = plain_loss(segments, held_out, tokenizer, order=3)
    assert trigram_loss(records, held_out, tokenizer) == pytest.approx(expected, 1e-9)


def test_repeated_text_is_counted_once(
    prepare, store, held_out, tokenizer, monkeypatch
):
    repeated = prepare("train", dupe_factor=3)
    divided = trigram_loss(repeated, held_out, tokenizer)
    # Each pass cuts other n-grams at the ends of segments.
    expected = trigram_loss(store, held_out, tokenizer)
    assert divided == pytest.approx(expected, abs=0.15)
    monkeypatch.setattr(baselines, "_repetitions", lambda source: 1)
    assert trigram_loss(repeated, held_out, tokenizer) > divided + 0.05


def test_visible_context_lowers_the_loss(store, prepare, tokenizer):
    losses = {
        rate: [
            loss(
                store, prepare("held_out", masking="token", masked_rate=rate), tokenizer
            )
            for loss in (unigram_loss, trigram_loss)
        ]
        for rate in (0.05, 0.8)
    }
    assert losses[0.05][1] < losses[0.05][0] - 0.5
    # With hardly any visible context there is hardly anything to gain.
    assert losses[0.8][1] > losses[0.8][0] - 0.3


def test_unigram_loss_is_near_the_entropy_of_its_targets(prepare, tokenizer):
    # N-gram masking takes long words less often, because they must fit the rest.
    store = prepare("train", masking="token", format="store")
    counts = np.zeros(VOCABULARY_SIZE)
    for _, labels, weights in pretraining_validation_dataset(store, 100):
        targets = labels["mlm_logits"].numpy()[weights["mlm_logits"].numpy() > 0]
        np.add.at(counts, targets, 1)
    shares = counts[counts > 0] / counts.sum()
    entropy = -(shares * np.log(shares)).sum()
    assert entropy < unigram_loss(store, store, tokenizer) < entropy + 0.1


def test_probabilities_of_all_tokens_sum_to_one(tokenizer):
    text = np.random.default_rng(3).zipf(1.5, 5000) % 47
    pieces = np.arange(47)
    chances = np.full(47, 1 / 47)
    for order, context in ((1, []), (2, [7]), (3, [1, 7])):
        asked = baselines._encode(
            np.stack([*(np.full(47, piece) for piece in context), pieces]), 47
        )
        table = baselines._NgramTable(asked, 47)
        table.add(baselines._ngrams_of(text, order, np.zeros(47, bool)))
        chances = table.interpolate(asked, chances, repetitions=1)
        assert chances.min() > 0
        assert chances.sum() == pytest.approx(1)


@pytest.mark.slow
def test_scores_of_a_run_get_the_baselines(base, tmp_path, capsys):
    (tmp_path / "scores.json").write_text('{"mlm_loss": 6.125}')
    words = [base, "--data", base / "tokens/held_out", "--scores"]
    baselines.main([*map(str, words), str(tmp_path / "scores.json")])
    scores = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert scores["mlm_loss"] == 6.125
    assert 3 < scores["unigram_loss"] < math.log(500)
    assert 3 < scores["trigram_loss"] < math.log(500)
