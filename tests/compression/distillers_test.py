"""Distillers: sums of their losses, what they train, and batches that are divided."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from albert_keras.compression import (
    MaskedWordsDistiller,
    TaskDistiller,
    cosine_loss,
    hidden_state_loss,
    soft_target_loss,
)
from albert_keras.converters import change_architecture
from albert_keras.models import AlbertBackbone, AlbertPretrainer, AlbertTextClassifier
from albert_keras.pretraining import PretrainingTask
from tests.helpers import make_config, make_inputs, max_difference, randomize
from tests.packed_rows import packed_batch

INPUTS = make_inputs(batch=6)
MASK = INPUTS["padding_mask"]
LABELS = np.array([0, 2, 1, 1, 0, 2])
WEIGHTS = np.array([1, 0, 2, 1, 1, 1], "float32")
# The last place of each row is unused.
WORDS = {**INPUTS, "mask_positions": np.tile([1, 3, 5, 0], (6, 1))}
WORD_LABELS = {"mlm_logits": np.arange(24).reshape(6, 4)}
WORD_WEIGHTS = {"mlm_logits": np.tile([1.0, 1.0, 1.0, 0.0], (6, 1))}


def make_backbone(**fields):
    return AlbertBackbone(**make_config(**fields).to_dict())


def make_task_distiller(num_classes=3, **options):
    teacher = AlbertTextClassifier(make_backbone(dropout=0.2), num_classes)
    student = change_architecture(randomize(teacher), num_layers=2, dropout=0.0)
    student.output_dropout.rate = 0.0
    return TaskDistiller(randomize(student, seed=5), teacher, **options)


def make_words_distiller(**options):
    teacher = AlbertPretrainer(make_backbone(dropout=0.2), num_pair_classes=0)
    student = change_architecture(randomize(teacher), num_layers=1, dropout=0.0)
    return MaskedWordsDistiller(randomize(student, seed=5), teacher, **options)


def loss_of(distiller, loss, batch):
    """Returns the loss of a batch, as the training step computes it."""
    distiller.compile("sgd", loss)
    x, y, weights = distiller.with_targets(*batch)
    return float(distiller.compute_loss(x, y, distiller(x), weights, training=False))


def mean(values, weights):
    values = ops.convert_to_numpy(values)
    return float((values * weights).sum() / np.sum(weights))


def states_of(model):
    encoder = model.backbone.with_outputs(hidden_states=True)
    return encoder(INPUTS)["hidden_states"]


def test_the_loss_of_a_task_is_the_weighted_sum_of_its_parts():
    weights = {"label_weight": 0.3, "soft_weight": 0.7, "state_weight": 1.1}
    distiller = make_task_distiller(**weights, temperature=3.0)
    loss = loss_of(distiller, "auto", (INPUTS, LABELS, WEIGHTS))
    student, teacher = distiller.student, distiller.teacher
    logits, teacher_logits = student(INPUTS), teacher(INPUTS)
    hard = keras.losses.sparse_categorical_crossentropy(LABELS, logits, True)
    soft = soft_target_loss(logits, teacher_logits, 3.0)
    states = hidden_state_loss(states_of(student), states_of(teacher))
    parts = [mean(hard, WEIGHTS), mean(soft, np.ones(6)), mean(states, MASK)]
    assert loss == pytest.approx(np.dot([0.3, 0.7, 1.1], parts), rel=1e-4)


def test_numbers_of_a_regression_are_compared_by_their_squared_difference():
    distiller = make_task_distiller(num_classes=1)
    outputs = distiller(INPUTS)
    teacher_numbers = ops.convert_to_numpy(distiller.teacher(INPUTS))[:, 0]
    numbers = ops.convert_to_numpy(outputs["logits"])[:, 0]
    expected = (numbers - teacher_numbers) ** 2
    assert max_difference(outputs["soft_targets"], expected) < 1e-5


def test_the_loss_of_masked_words_is_the_weighted_sum_of_its_parts():
    distiller = make_words_distiller()
    loss_of_words = PretrainingTask("none").losses()
    loss = loss_of(distiller, loss_of_words, (WORDS, WORD_LABELS, WORD_WEIGHTS))
    models = distiller.student, distiller.teacher
    logits, taught = (model(WORDS)["mlm_logits"] for model in models)
    hard = keras.losses.sparse_categorical_crossentropy(
        WORD_LABELS["mlm_logits"], logits, from_logits=True
    )
    soft = soft_target_loss(logits, taught)
    cosine = cosine_loss(*(states_of(model)[-1] for model in models))
    counted = WORD_WEIGHTS["mlm_logits"]
    parts = [mean(hard, counted), mean(soft, counted), mean(cosine, MASK)]
    # The weights of DistilBERT.
    assert loss == pytest.approx(np.dot([2.0, 5.0, 1.0], parts), rel=1e-4)


def test_packed_rows_have_a_loss_for_each_of_their_tokens():
    models = [AlbertPretrainer(make_backbone(max_sequence_length=41), 0) for _ in "ab"]
    distiller = MaskedWordsDistiller(*models)
    features, _, weights = distiller.with_targets(*packed_batch())
    outputs = distiller(features)
    assert {n: x.shape[:2] for n, x in outputs.items()} == {
        n: w.shape for n, w in weights.items()
    }


@pytest.mark.slow
def test_only_the_student_is_trained_and_a_divided_batch_takes_the_same_step():
    weights = []
    for micro_batches in (1, 3):
        keras.utils.set_random_seed(3)
        distiller = make_task_distiller()
        teacher = distiller.teacher.get_weights()
        before = distiller.student.get_weights()
        options = {"micro_batches": micro_batches, "run_eagerly": True}
        distiller.compile("sgd", "auto", **options)
        batch = distiller.with_targets(INPUTS, LABELS, WEIGHTS)
        data = tf.data.Dataset.from_tensors(batch).repeat(2)
        distiller.fit(data, shuffle=False, verbose=0)
        assert max_difference(distiller.teacher.get_weights(), teacher) == 0.0
        weights.append(distiller.student.get_weights())
        assert max_difference(weights[-1], before) > 1e-3
    assert max_difference(*weights) < 1e-6


def test_student_and_teacher_must_fit_each_other():
    distiller = make_task_distiller()
    other = AlbertTextClassifier(make_backbone(vocabulary_size=67), 3)
    with pytest.raises(ValueError, match="vocabulary_size=67 and vocabulary_size=61"):
        TaskDistiller(other, distiller.teacher)
    other = AlbertTextClassifier(make_backbone(), 2)
    with pytest.raises(ValueError, match="num_classes=2 and num_classes=3"):
        TaskDistiller(other, distiller.teacher)
