"""Tags of a SavedModel against `tag_words`."""

import keras
import pytest
import tensorflow as tf

from albert_keras.models import AlbertTokenClassifier
from albert_keras.preprocessors import AlbertTokenClassifierPreprocessor
from albert_keras.preprocessors.tagged_words import words_of
from albert_keras.tasks.entities import find_entities
from albert_keras.tasks.prediction import tag_words
from tests.export.text.conftest import STRANGE, approximately

# Long sentences become several sequences, long words are cut, and words may be empty.
LONG = ["storms and the gulls " * 11, "stormsgulls" * 9 + " the storms", "a " * 40]
LISTS = [["New York", "", "storms"], ["\0"], ["a\u2028b", " "]]
LABELS = ["O", "B-PER", "I-PER", "I-LOC"]


@pytest.fixture(scope="module")
def tagger(backbone, tokenizer):
    # With others all words may have one tag.
    keras.utils.set_random_seed(5)
    preprocessor = AlbertTokenClassifierPreprocessor(tokenizer, sequence_length=13)
    return AlbertTokenClassifier(backbone, 4, preprocessor, labels=LABELS)


@pytest.mark.slow
def test_words_and_entities_are_those_of_the_model(tagger, serve):
    predictor, signatures = serve(tagger)
    sentences = [*LISTS, *LONG, *(text for text in STRANGE if text.split())]
    expected = tag_words(tagger, sentences)
    assert predictor.predict(sentences, 4) == approximately(expected)
    assert len({tag for row in expected for tag in row["tags"]}) > 2

    texts = [*LONG, *STRANGE, "𠀀é北京 in 2020年，\u3000かな"]
    signature = signatures["serving_default"]
    tensors = signature(text=tf.constant(texts))
    outputs = {name: value.numpy() for name, value in tensors.items()}
    expected = tag_words(tagger, texts)
    for number, (text, row) in enumerate(zip(texts, expected, strict=True)):
        tags, scores = row["tags"], [entity["score"] for entity in row["entities"]]
        row = {name: value[number] for name, value in outputs.items()}
        words = words_of(text)
        assert [word.decode() for word in row["words"] if word] == words
        assert [tag.decode() for tag in row["tags"] if tag] == tags
        starts, ends = row["word_starts"], row["word_ends"]
        assert (starts[len(words) :] == -1).all()
        places = list(zip(starts, ends, strict=True))[: len(words)]
        assert [text[start:end] for start, end in places] == words
        entities = [
            (kind, places[first][0], places[end - 1][1])
            for kind, first, end in find_entities(tags)
        ]
        names = ("entity_types", "entity_starts", "entity_ends", "entities")
        found = [*zip(*(row[name] for name in names), strict=True)][: len(entities)]
        assert [(k.decode(), a, b) for k, a, b, _ in found] == entities
        assert [t.decode() for *_, t in found] == [text[a:b] for _, a, b in entities]
        received = row["entity_scores"][: len(entities)].tolist()
        assert received == approximately(scores)
        assert (row["entity_starts"][len(entities) :] == -1).all()
