"""Text in TFLite of masks, tags and choices, against the Keras model."""

import keras
import pytest

from albert_keras.export import export_tflite, load_exported
from albert_keras.models import (
    AlbertMaskedLM,
    AlbertMultipleChoice,
    AlbertTokenClassifier,
)
from albert_keras.preprocessors import (
    AlbertMaskedLMPreprocessor,
    AlbertMultipleChoicePreprocessor,
    AlbertTokenClassifierPreprocessor,
)
from albert_keras.runs import predict_with_run
from albert_keras.runs.inference import LoadedModel
from albert_keras.tasks.masked_words import MaskedWordsTask
from albert_keras.tasks.prediction import task_of
from tests.export.text.conftest import STRANGE, approximately

pytest.importorskip("ai_edge_litert")
pytest.importorskip("tensorflow_text")
# All but a Greek final sigma, which a map of characters cannot know.
TEXTS = [text.replace("Σ ", "Α ") for text in STRANGE]


@pytest.mark.slow
def test_masks_are_filled(backbone, tokenizer, tmp_path):
    model = AlbertMaskedLM(backbone, preprocessor=AlbertMaskedLMPreprocessor(tokenizer))
    export_tflite(model, tmp_path / "model", tokenizer=tokenizer)
    texts = ["the [MASK] counts [MASK]", *(f"{text[:9]} [MASK]" for text in TEXTS)]
    expected = LoadedModel(MaskedWordsTask(tokenizer), model).predict(texts)
    predictor = load_exported(tmp_path / "model")
    assert predictor.predict(texts, 4) == approximately(expected)
    for text in ("no mask", "[MASK] " * 41):
        with pytest.raises(ValueError, match=r"must have a \[MASK\], and no more"):
            predictor.predict([text])


@pytest.mark.slow
def test_words_are_tagged_in_as_many_calls_as_needed(backbone, tokenizer, tmp_path):
    keras.utils.set_random_seed(5)
    preprocessor = AlbertTokenClassifierPreprocessor(tokenizer, sequence_length=13)
    labels = ["O", "B-PER", "I-PER", "I-LOC"]
    model = AlbertTokenClassifier(backbone, 4, preprocessor, labels=labels)
    export_tflite(model, tmp_path / "model", tokenizer=tokenizer)
    samples = ["storms and the gulls " * 11, "stormsgulls" * 9 + " the", "a " * 40]
    samples += [["New York", "", "storms"], ["\0"], *TEXTS[2:]]
    expected = LoadedModel(task_of(model), model).predict(samples)
    received = load_exported(tmp_path / "model").predict(samples, 4)
    assert received == approximately(expected)


@pytest.mark.slow
def test_choices_are_scored(backbone, tokenizer, tmp_path):
    preprocessor = AlbertMultipleChoicePreprocessor(
        tokenizer, sequence_length=18, max_question_length=11
    )
    model = AlbertMultipleChoice(backbone, preprocessor)
    export_tflite(model, tmp_path / "model", tokenizer=tokenizer)
    samples = [("the storms " * 19, "who _ it?", ["a b", "gulls " * 9, ""])]
    samples += [(text, text, [text, "a", "the gulls"]) for text in TEXTS]
    expected = LoadedModel(task_of(model), model).predict(samples)
    received = predict_with_run(tmp_path / "model", samples)
    assert received == approximately(expected)
