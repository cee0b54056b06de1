"""Generator and discriminator: what each reads, shares, and learns from."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import (
    AlbertBackbone,
    AlbertReplacedTokenPretrainer,
    make_generator,
)
from tests.helpers import make_config, make_inputs, max_difference, randomize
from tests.packed_rows import packed_batch

SEEDS = np.random.default_rng(3).integers(0, 2**31 - 1, (5, 2), "int32")
# The last place of each row is unused.
INPUTS = {
    **make_inputs(),
    "mask_positions": np.tile(np.array([1, 3, 5, 0], "int32"), (5, 1)),
    "sample_seeds": SEEDS,
}


def make_model(num_pair_classes=2, dtype=None, **fields):
    config = make_config(num_layers=1, **fields)
    backbone = AlbertBackbone(**config.to_dict(), dtype=dtype)
    generator = make_generator(backbone, hidden_dim=15)
    return randomize(
        AlbertReplacedTokenPretrainer(backbone, generator, num_pair_classes)
    )


def test_generators_are_a_quarter_as_wide_and_share_the_tables():
    nano = AlbertBackbone.from_config_preset("albert_nano_en")
    config = make_generator(nano).albert_config
    assert (config.hidden_dim, config.num_heads, config.intermediate_dim) == (
        64,
        2,
        256,
    )
    assert config.num_layers == 3
    backbone = AlbertBackbone(**make_config().to_dict())
    # No wider than the discriminator itself.
    assert make_generator(backbone).hidden_dim == 28
    generator = make_generator(backbone, hidden_dim=15, num_layers=2)
    config = generator.albert_config
    assert (config.num_layers, config.num_heads, config.intermediate_dim) == (2, 1, 21)
    own = {id(v) for v in generator.variables} - {id(v) for v in backbone.variables}
    assert len(own) == len(generator.variables) - 5


def test_a_generator_with_tables_of_its_own_is_refused():
    backbone = AlbertBackbone(**make_config().to_dict())
    with pytest.raises(
        ValueError, match="must share the token table.*'albert_backbone"
    ):
        AlbertReplacedTokenPretrainer(
            backbone, AlbertBackbone(**make_config(hidden_dim=20).to_dict())
        )


def test_the_discriminator_reads_the_samples_in_place_of_the_masks():
    model = make_model()
    outputs = {name: np.array(value) for name, value in model(INPUTS).items()}
    assert outputs["mlm_logits"].shape == (5, 4, 61)
    assert outputs["sop_logits"].shape == (5, 2)
    logits, pieces = np.moveaxis(outputs["detection"], 2, 0)
    kept = np.setdiff1d(np.arange(13), [1, 3, 5])
    assert np.array_equal(pieces[:, kept], INPUTS["token_ids"][:, kept])
    assert (pieces != INPUTS["token_ids"]).sum() > 9
    read = {name: INPUTS[name] for name in model.backbone.input}
    read["token_ids"] = pieces.astype("int32")
    encoded = model.backbone(read)
    expected = model.detection_head(encoded["sequence_output"])
    assert max_difference(logits, expected) < 1e-5
    expected = model.pair_head(encoded["pooled_output"])
    assert max_difference(outputs["sop_logits"], expected) < 1e-5


def test_packed_rows():
    features, *_ = packed_batch()
    model = make_model(max_sequence_length=41)
    outputs = model({**features, "sample_seeds": SEEDS})
    assert outputs["sop_logits"].shape == (5, 7, 2)
    logits, pieces = np.moveaxis(np.array(outputs["detection"]), 2, 0)
    assert (pieces != features["token_ids"]).any()
    read = {**features, "token_ids": pieces.astype("int32")}
    expected = model.detection_head(model.backbone.encode_packed(read))
    assert max_difference(logits, expected) < 1e-5


def test_outputs_are_float32_under_mixed_precision():
    outputs = make_model(dtype="mixed_bfloat16")(INPUTS)
    assert {output.dtype.name for output in outputs.values()} == {"float32"}


def gradients_of(model, output):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(INPUTS)[output][..., 0] ** 2)
    table = model.backbone.token_embedding.embeddings
    parts = {
        "table": [table],
        "generator": [*model.generator.encoders[0].trainable_variables],
        "discriminator": [*model.backbone.encoders[0].trainable_variables],
        "word head": [model.mlm_head.output_bias],
        "detection head": model.detection_head.trainable_variables,
    }
    gradients = tape.gradient(loss, tf.nest.map_structure(lambda v: v.value, parts))
    return {
        name for name, values in gradients.items() if all(g is not None for g in values)
    }


def test_losses_reach_their_own_part_and_the_table():
    model = make_model()
    assert gradients_of(model, "detection") == {
        "table",
        "discriminator",
        "detection head",
    }
    assert gradients_of(model, "mlm_logits") == {"table", "generator", "word head"}


@pytest.mark.parametrize("num_pair_classes", [0, 2])
def test_poolers_that_nothing_reads_are_not_trained(num_pair_classes):
    model = make_model(num_pair_classes)
    trained = {id(v) for v in model.trainable_variables}
    poolers = [model.generator.pooler, model.backbone.pooler]
    read = [all(id(v) in trained for v in pooler.weights) for pooler in poolers]
    assert read == [False, num_pair_classes > 0]
    assert len(trained) == len(model.trainable_variables)
    assert len(model.variables) == len({id(v) for v in model.variables})
