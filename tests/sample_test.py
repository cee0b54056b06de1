"""The embedded sample corpus and reviews."""

import collections

from albert_keras import sample
from albert_keras.tasks.text_classification.reading import read_labelled_texts
from albert_keras.text import read_documents


def test_corpus_has_many_short_documents():
    documents = list(read_documents(sample.CORPUS))
    assert len(documents) >= 100
    assert all(6 <= len(document) <= 9 for document in documents)
    sentences = [sentence for document in documents for sentence in document]
    assert len(set(sentences)) == len(sentences)


def test_reviews_are_balanced_and_do_not_overlap():
    train = read_labelled_texts(sample.REVIEWS_TRAIN)
    test = read_labelled_texts(sample.REVIEWS_TEST)
    assert not set(train.texts) & set(test.texts)
    for rows, half in ((train, 150), (test, 50)):
        assert collections.Counter(rows.labels) == {"positive": half, "negative": half}
