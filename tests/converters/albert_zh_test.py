"""albert_zh's older layout against its computation in NumPy."""

import json

import keras
import numpy as np
import pytest

from albert_keras.config import AlbertConfig
from albert_keras.converters import load_checkpoint
from albert_keras.converters.tensorflow_file import write_tensorflow

V, E, H, INTERMEDIATE, POSITIONS = 61, 9, 28, 40, 19
JSON = {
    **{"attention_probs_dropout_prob": 0.0, "directionality": "bidi"},
    **{"embedding_size": E, "hidden_act": "gelu", "hidden_dropout_prob": 0.0},
    **{"hidden_size": H, "initializer_range": 0.02, "intermediate_size": INTERMEDIATE},
    **{"ln_type": "postln", "max_position_embeddings": POSITIONS},
    **{"num_attention_heads": 4, "num_hidden_layers": 3},
    **{"pooler_type": "first_token_transform", "type_vocab_size": 2, "vocab_size": V},
}
LAYER = "bert/encoder/layer_shared"
SHAPES = {
    "bert/embeddings/word_embeddings": (V, E),
    "bert/embeddings/word_embeddings_2": (E, H),
    "bert/embeddings/position_embeddings": (POSITIONS, H),
    "bert/embeddings/token_type_embeddings": (2, H),
    "bert/embeddings/LayerNorm/beta": (H,),
    "bert/embeddings/LayerNorm/gamma": (H,),
    **{
        f"{LAYER}/{name}/{leaf}": shape
        for name, kernel in {
            **{"attention/self/query/": (H, H), "attention/self/key/": (H, H)},
            **{"attention/self/value/": (H, H), "attention/output/dense/": (H, H)},
            "intermediate/dense/": (H, INTERMEDIATE),
            "output/dense/": (INTERMEDIATE, H),
        }.items()
        for name, leaf, shape in [
            (name[:-1], "kernel", kernel),
            (name[:-1], "bias", kernel[1:]),
        ]
    },
    **{
        f"{LAYER}/{name}/LayerNorm/{leaf}": (H,)
        for name in ("attention/output", "output")
        for leaf in ("beta", "gamma")
    },
    "bert/pooler/dense/kernel": (H, H),
    "bert/pooler/dense/bias": (H,),
    "cls/predictions/transform/dense/kernel": (H, H),
    "cls/predictions/transform/dense/bias": (H,),
    "cls/predictions/transform/LayerNorm/beta": (H,),
    "cls/predictions/transform/LayerNorm/gamma": (H,),
    "cls/predictions/output_bias": (V,),
    "cls/seq_relationship/output_weights": (2, H),
    "cls/seq_relationship/output_bias": (2,),
}


@pytest.fixture(scope="module")
def tensors():
    random = np.random.default_rng(23)
    return {
        name: random.normal(0.0, 0.3, shape).astype("float32")
        for name, shape in SHAPES.items()
    }


def write(folder, tensors, config=JSON):
    write_tensorflow(folder / "albert_model.ckpt", tensors)
    (folder / "albert_config_tiny.json").write_text(json.dumps(config))
    return folder


def layer_norm(x, tensors, name):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    normal = (x - mean) / np.sqrt(variance + 1e-12)
    return normal * tensors[f"{name}/gamma"] + tensors[f"{name}/beta"]


def dense(x, tensors, name):
    return x @ tensors[f"{name}/kernel"] + tensors[f"{name}/bias"]


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x):
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def plain_forward(tensors, token_ids, segment_ids):
    """The original's computation of one unpadded row, in float64."""
    tensors = {name: value.astype("float64") for name, value in tensors.items()}
    projection = tensors["bert/embeddings/word_embeddings_2"]
    table = tensors["bert/embeddings/word_embeddings"]
    x = table[token_ids] @ projection
    x = x + tensors["bert/embeddings/token_type_embeddings"][segment_ids]
    x = x + tensors["bert/embeddings/position_embeddings"][: len(token_ids)]
    x = layer_norm(x, tensors, "bert/embeddings/LayerNorm")
    for _ in range(3):
        query, key, value = (
            dense(x, tensors, f"{LAYER}/attention/self/{name}").reshape(-1, 4, H // 4)
            for name in ("query", "key", "value")
        )
        scores = softmax(np.einsum("qhd,khd->hqk", query, key) / np.sqrt(H // 4))
        context = np.einsum("hqk,khd->qhd", scores, value).reshape(-1, H)
        context = dense(context, tensors, f"{LAYER}/attention/output/dense")
        x = layer_norm(x + context, tensors, f"{LAYER}/attention/output/LayerNorm")
        inner = gelu(dense(x, tensors, f"{LAYER}/intermediate/dense"))
        inner = dense(inner, tensors, f"{LAYER}/output/dense")
        x = layer_norm(x + inner, tensors, f"{LAYER}/output/LayerNorm")
    masked = gelu(dense(x, tensors, "cls/predictions/transform/dense"))
    masked = layer_norm(masked, tensors, "cls/predictions/transform/LayerNorm")
    pooled = np.tanh(dense(x[0], tensors, "bert/pooler/dense"))
    return {
        "mlm_logits": masked @ projection.T @ table.T
        + tensors["cls/predictions/output_bias"],
        "sop_logits": pooled @ tensors["cls/seq_relationship/output_weights"].T
        + tensors["cls/seq_relationship/output_bias"],
    }


def test_outputs_equal_the_original(tensors, tmp_path):
    model = load_checkpoint(write(tmp_path, tensors))
    random = np.random.default_rng(29)
    token_ids, segment_ids = random.integers(0, V, 11), random.integers(0, 2, 11)
    outputs = model(
        {
            "token_ids": token_ids[np.newaxis],
            "segment_ids": segment_ids[np.newaxis],
            "padding_mask": np.ones((1, 11), "int32"),
            "mask_positions": np.arange(11)[np.newaxis],
        }
    )
    for name, expected in plain_forward(tensors, token_ids, segment_ids).items():
        received = keras.ops.convert_to_numpy(outputs[name])[0]
        assert np.abs(received - expected).max() < 1e-5, name


def test_model_has_tables_in_hidden_width(tensors, tmp_path):
    folder = write(tmp_path, tensors)
    # A passed config has the original sizes.
    config = AlbertConfig(V, 3, 4, E, H, INTERMEDIATE, max_sequence_length=POSITIONS)
    for given in (None, config):
        backbone = load_checkpoint(folder, given, head=None)
        assert (backbone.embedding_dim, backbone.hidden_dim) == (H, H)
        assert "projection" not in "".join(v.path for v in backbone.embedding.weights)


def test_projection_without_a_table_is_refused(tensors, tmp_path):
    tensors = {k: v for k, v in tensors.items() if not k.endswith("word_embeddings")}
    with pytest.raises(ValueError, match="missing: embedding/token_embedding"):
        load_checkpoint(write(tmp_path, tensors))


def test_layers_normalized_before_are_refused(tensors, tmp_path):
    folder = write(tmp_path, tensors, {**JSON, "ln_type": "preln"})
    with pytest.raises(ValueError, match="Received: ln_type='preln' in '.*tiny.json'"):
        load_checkpoint(folder)
