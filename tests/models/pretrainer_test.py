"""The pretraining model: gathered positions, the tied table, the pair head, losses."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import AlbertPretrainer
from albert_keras.preprocessors import AlbertPretrainerPreprocessor
from tests.helpers import max_difference, randomize
from tests.models.small_models import WORDS as INPUTS
from tests.models.small_models import make_model
from tests.tasks.task_checks import make_tokenizer

RANDOM = np.random.default_rng(5)
LABELS = {
    "mlm_logits": RANDOM.integers(0, 61, (5, 6)),
    "sop_logits": RANDOM.integers(0, 2, 5),
}
WEIGHTS = {
    "mlm_logits": RANDOM.integers(0, 2, (5, 6)).astype("float32"),
    "sop_logits": np.ones(5, "float32"),
}


def test_logits_are_those_of_the_positions_asked_for():
    pretrainer = randomize(make_model(AlbertPretrainer))
    everywhere = np.tile(np.arange(13), (5, 1))
    full = pretrainer({**INPUTS, "mask_positions": everywhere})["mlm_logits"]
    rows = np.arange(5)[:, np.newaxis]
    expected = np.array(full)[rows, INPUTS["mask_positions"]]
    assert max_difference(pretrainer(INPUTS)["mlm_logits"], expected) < 1e-5


def test_gradient_enters_the_table_from_both_ends():
    pretrainer = randomize(make_model(AlbertPretrainer))
    inputs = {**INPUTS, "token_ids": INPUTS["token_ids"] % 40}
    table = pretrainer.backbone.token_embedding.embeddings
    with tf.GradientTape() as tape:
        # The logit of a piece that is not in the text.
        loss = tf.reduce_sum(pretrainer(inputs)["mlm_logits"][:, :, 57])
    gradient = np.abs(tf.convert_to_tensor(tape.gradient(loss, table.value))).sum(-1)
    in_text = np.isin(np.arange(61), inputs["token_ids"][inputs["padding_mask"] == 1])
    assert (gradient[in_text] > 0.0).all()
    assert gradient[57] > 0.0
    assert gradient[~in_text].sum() == gradient[57]


def test_pair_head_reads_the_pooled_output_without_dropout():
    pretrainer = randomize(make_model(AlbertPretrainer))
    inputs = {name: INPUTS[name] for name in pretrainer.backbone.input}
    pooled = pretrainer.backbone(inputs)["pooled_output"]
    kernel, bias = pretrainer.pair_head.get_weights()
    expected = np.array(pooled) @ kernel + bias
    assert max_difference(pretrainer(INPUTS)["sop_logits"], expected) < 1e-5
    training = pretrainer(INPUTS, training=True)["sop_logits"]
    assert max_difference(training, expected) < 1e-5


def test_a_pair_head_needs_pairs_of_texts():
    tokenizer = make_tokenizer()
    fields = {"vocabulary_size": tokenizer.vocabulary_size()}
    preprocessor = AlbertPretrainerPreprocessor(tokenizer, sequence_length=13)
    model = make_model(AlbertPretrainer, fields=fields, preprocessor=preprocessor)
    with pytest.raises(ValueError, match="second segments.* num_pair_classes=2"):
        model.fit(["a good film", "dull"], verbose=0)


def cross_entropy(logits, labels):
    logits = np.array(logits, "float64")
    log_sum = np.log(np.exp(logits).sum(-1))
    return log_sum - np.take_along_axis(logits, labels[..., None], -1)[..., 0]


def test_default_loss_is_the_mean_over_masked_pieces_plus_that_over_pairs():
    pretrainer = randomize(make_model(AlbertPretrainer))
    logs = pretrainer.evaluate(
        INPUTS, LABELS, sample_weight=WEIGHTS, return_dict=True, verbose=0
    )
    outputs = pretrainer(INPUTS)
    masked = cross_entropy(outputs["mlm_logits"], LABELS["mlm_logits"])
    pairs = cross_entropy(outputs["sop_logits"], LABELS["sop_logits"])
    weights = WEIGHTS["mlm_logits"]
    expected = (masked * weights).sum() / weights.sum() + pairs.mean()
    assert logs["loss"] == pytest.approx(expected, abs=1e-5)
