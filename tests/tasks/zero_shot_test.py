"""New labels of a classifier of entailment: probabilities, cuts, and what is refused."""

import keras
import numpy as np
import pytest
from scipy.special import softmax

import albert_keras as ak
from albert_keras.runs.inference import LoadedModel
from albert_keras.tasks.prediction import task_of
from albert_keras.tasks.zero_shot import zero_shot_task

TEXTS = ["The match was won in the last minute.", "The storm came.", "word " * 300]
LABELS = ["sport", "the weather of today"]


def make_classifier(labels=("entailment", "neutral", "contradiction"), **options):
    keras.utils.set_random_seed(3)
    backbone = ak.AlbertBackbone.from_preset("albert_nano_en")
    model = ak.AlbertTextClassifier(backbone, len(labels), labels=labels, **options)
    tokenizer = ak.load_tokenizer("albert_nano_en")
    model.preprocessor = ak.AlbertTextClassifierPreprocessor(tokenizer, 128)
    kernel = model.output_dense.kernel
    kernel.assign(9 * kernel)
    return model


@pytest.fixture(scope="module")
def run():
    model = make_classifier()
    return LoadedModel(task_of(model), model)


def test_probabilities_are_those_of_the_pairs(run):
    texts, template = TEXTS[:2], "It is about {}."
    pairs = [(text, template.format(label)) for text in texts for label in LABELS]
    logits = run.model.predict(pairs).reshape(2, 2, 3)
    found = run.classify(texts, LABELS, template)
    expected = softmax(logits[..., 0], axis=1)
    for row, text, shares in zip(found, texts, expected, strict=True):
        assert row["text"] == text
        assert row["label"] == LABELS[shares.argmax()]
        assert [*row["probabilities"].values()] == pytest.approx(shares, abs=1e-5)
    # Several may hold, and one label may always.
    expected = softmax(logits[..., [2, 0]], axis=-1)[..., 1]
    for labels in (LABELS, LABELS[:1]):
        found = run.classify(texts, labels, template, multi_label=len(labels) > 1)
        shares = [[*row["probabilities"].values()] for row in found]
        assert np.abs(np.array(shares) - expected[:, : len(labels)]).max() < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("multi_label", [True, False])
def test_probabilities_are_those_of_transformers(multi_label, tmp_path):
    pipeline = pytest.importorskip("transformers").pipeline
    pytest.importorskip("torch")
    model = make_classifier(labels=("contradiction", "entailment", "neutral"))
    ak.save_checkpoint(model, tmp_path, "huggingface")
    theirs = pipeline("zero-shot-classification", model=str(tmp_path))
    found = ak.load_run(tmp_path).classify(TEXTS, LABELS, multi_label=multi_label)
    rows = theirs(TEXTS, LABELS, multi_label=multi_label)
    for ours, row in zip(found, rows, strict=True):
        expected = dict(zip(row["labels"], row["scores"], strict=True))
        assert ours["probabilities"] == pytest.approx(expected, abs=1e-5)


def test_long_texts_are_cut_and_labels_are_not(run):
    task = zero_shot_task(run.model, LABELS)
    examples = task.prepare(task.rows_of(TEXTS[2:])).examples
    assert examples.lengths.tolist() == [128, 128]
    ids = examples.padded(np.arange(2), 128)["token_ids"]
    assert "his example is sport." in task.tokenizer.detokenize(ids[0][-12:])


@pytest.mark.parametrize(
    ("labels", "template", "message"),
    [
        ([], "{}", r"at least one name.*labels=\[\]"),
        (["a", "a"], "{}", "different ones"),
        (["a"], "This is it.", "template='This is it.'"),
    ],
)
def test_wrong_labels_are_refused(run, labels, template, message):
    with pytest.raises(ValueError, match=message):
        run.classify(TEXTS, labels, template)


def test_other_models_and_pairs_are_refused(run):
    others = [
        make_classifier(labels=("good", "bad")),
        make_classifier(activation="softmax"),
        ak.AlbertTextEmbedder.from_preset("albert_nano_en"),
    ]
    for model in others:
        with pytest.raises(ValueError, match="begins with `entail`"):
            zero_shot_task(model, LABELS)
    with pytest.raises(ValueError, match="single texts"):
        run.classify([("a text", "another")], LABELS)
