"""Rows of texts as batches, and training by them."""

import numpy as np

import albert_keras as ak
from albert_keras.models.embedding_learner import EmbeddingLearner
from albert_keras.models.embedding_losses import ContrastiveLoss


def test_rows_of_texts_train_the_embedder():
    embedder = ak.AlbertTextEmbedder.from_preset("albert_nano_en")
    embedder.preprocessor.sequence_length = 11
    learner = EmbeddingLearner(embedder)
    learner.compile(ak.AdamW(1e-3), ContrastiveLoss(), micro_batches=2)
    texts = ["a warm day", "the long film", "two dogs", "he left", "it snows"]
    inputs, numbers = learner.rows_of(texts, ["hot", "a movie", "pets", "gone", "hot"])
    assert inputs["token_ids"].shape == (5, 2, 11)
    assert numbers[:, 1].tolist() == [1, 3, 5, 7, 1]
    vectors = embedder.encode_text(texts)
    assert np.abs(learner.predict(inputs, verbose=0)[:, 0] - vectors).max() < 1e-5
    losses = learner.fit(inputs, numbers, batch_size=5, epochs=3, verbose=0).history
    assert losses["loss"][-1] < losses["loss"][0] / 2
    assert np.abs(embedder.encode_text(texts) - vectors).max() > 0.01
