#!/usr/bin/env python3
"""Compares the speed and memory of a training step with other libraries.

All train on the same batch. `albert_keras` trains with LAMB, `keras_hub` with Keras'
LAMB, `huggingface` with torch's AdamW, all clipped by the global norm. `huggingface` is
the unchanged `AlbertForPreTraining`, whose head computes all positions;
`huggingface_masked_only` gathers the masked positions first, as all others do. `..._jit`
is compiled by XLA. `..._memory_returned` run without `TF_CPU_ALLOCATOR_USE_BFC`, which
all others have: their process returns the memory of tensors to the system.

`products` are the matrix products of one step alone, forward and backward, in the same
shapes. On a GPU bfloat16 is compared, and `peak_jax_bfloat16` is the time of as many
operations in products of large matrices.

The memory of a layer is the difference of two calls with `--num-layers`, divided by the
layers between them. `albert_keras_rematerialized` and `albert_keras_block`, which attends
in blocks, need less than `albert_keras`.

examples:
  tools/benchmarks/training.py --threads 2
  tools/benchmarks/training.py --preset albert_mini_en --num-layers 3 --batch-size 32 \
      --only albert_keras_memory_returned albert_keras
  tools/benchmarks/training.py --device gpu --batch-size 64 --steps 10
"""

import functools
import math
import pathlib
import statistics
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.config import PRESETS, AlbertConfig
from tools.benchmarks import harness
from tools.benchmarks.harness import Contender, seconds_of


def main(argv=None):
    """Measures, and prints the results."""
    parser = harness.make_parser(__doc__, CONTENDERS)
    parser.add_argument("--preset", choices=PRESETS, default="albert_base_v2")
    parser.add_argument("--num-layers", type=int, help="default: the preset's")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--sequence-length", type=int, default=128)
    parser.add_argument("--num-predictions", type=int, default=20)
    parser.add_argument("--steps", type=int, default=1, help="steps of a round")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    arguments = parser.parse_args(argv)
    arguments.only = arguments.only or {"cpu": ON_CPU, "gpu": ON_GPU}[arguments.device]
    config = PRESETS[arguments.preset].to_dict()
    config["num_layers"] = arguments.num_layers or config["num_layers"]
    length = arguments.sequence_length
    config["max_sequence_length"] = max(config["max_sequence_length"], length)
    work = {"config": config}
    harness.compare(__file__, CONTENDERS, arguments, work, "ms a step")


def make_batch(work):
    """Returns features and labels of one batch, the same for all contenders."""
    rng = np.random.default_rng(0)
    rows, length = work["batch_size"], work["sequence_length"]
    num_masked, size = work["num_predictions"], work["config"]["vocabulary_size"]
    positions = [rng.permutation(length)[:num_masked] for _ in range(rows)]
    features = {
        "token_ids": rng.integers(0, size, (rows, length), "int32"),
        "segment_ids": rng.integers(0, 2, (rows, length), "int32"),
        "padding_mask": np.ones((rows, length), "int32"),
        "mask_positions": np.sort(positions).astype("int32"),
    }
    labels = {
        "mlm_logits": rng.integers(0, size, (rows, num_masked), "int32"),
        "sop_logits": rng.integers(0, 2, rows, "int32"),
    }
    return features, labels


# === Keras: this package and keras-hub ===


def keras_steps(work, make_model):
    """Returns a function that returns the seconds of a step of `fit`.

    Only the steps are measured, not the start and the end of `fit`.
    """
    import keras

    clock, steps = getattr(time, work["clock"]), work["steps"]
    data = keras.tree.map_structure(
        lambda x: np.concatenate([x] * steps), make_batch(work)
    )
    model, seconds = make_model(work), []

    def start_clock(batch, logs):
        seconds.append(-clock())

    def stop_clock(batch, logs):
        # Reading a result waits until the device has computed it.
        float(logs["loss"])
        seconds[-1] += clock()

    timer = keras.callbacks.LambdaCallback(
        on_train_batch_begin=start_clock, on_train_batch_end=stop_clock
    )
    options = {"batch_size": work["batch_size"], "callbacks": [timer]}

    def measure():
        seconds.clear()
        model.fit(*data, shuffle=False, verbose=0, **options)
        return {"a step": statistics.mean(seconds)}

    measure()
    return measure


def albert_keras_model(work, dtype="float32", jit_compile=False, **fields):
    from albert_keras.models import AlbertBackbone, AlbertPretrainer
    from albert_keras.optimizers import Lamb

    config = {**work["config"], **fields}
    model = AlbertPretrainer(AlbertBackbone(**config, dtype=dtype))
    model.compile(Lamb(1e-3, global_clipnorm=1.0), jit_compile=jit_compile)
    model.optimizer.build(model.trainable_variables)
    return model


def keras_hub_model(work):
    """Returns keras-hub's backbone with its masked LM head and a pair head."""
    import keras
    import keras_hub

    from albert_keras.converters.keras_hub import CONFIG_FORMAT

    values = CONFIG_FORMAT.write(AlbertConfig(**work["config"]))
    backbone = keras_hub.models.AlbertBackbone(**values)
    masked_lm = keras_hub.models.AlbertMaskedLM(backbone)
    encoded, inputs = backbone(backbone.input), masked_lm.input
    mlm_logits = masked_lm.masked_lm_head(
        encoded["sequence_output"], inputs["mask_positions"]
    )
    sop_logits = keras.layers.Dense(2)(encoded["pooled_output"])
    model = keras.Model(inputs, {"mlm_logits": mlm_logits, "sop_logits": sop_logits})
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.Lamb(1e-3, weight_decay=0.01, global_clipnorm=1.0)
    model.compile(optimizer, dict.fromkeys(model.output, loss))
    return model


# === torch: Hugging Face ===


def huggingface_steps(work, masked_only=False, bfloat16=False, compiled=False):
    """Returns a function that returns the seconds of a step.

    Attention is torch's `scaled_dot_product_attention`, the default of transformers.

    Args:
        masked_only: bool. Pass only the masked positions to the head, as all others do;
            `AlbertForPreTraining` passes every position.
        bfloat16: bool. Compute under torch's automatic mixed precision.
        compiled: bool. Compile model and loss by `torch.compile`.
    """
    import torch
    import transformers

    from albert_keras.converters.huggingface import CONFIG_FORMAT

    device = {"cpu": "cpu", "gpu": "cuda"}[work["device"]]
    values = CONFIG_FORMAT.write(AlbertConfig(**work["config"]))
    model = transformers.AlbertForPreTraining(transformers.AlbertConfig(**values))
    model = model.train().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
    features, labels = make_batch(work)
    tensors = {
        name: torch.from_numpy(value).long().to(device)
        for name, value in {**features, **labels}.items()
    }
    inputs = {
        "input_ids": tensors["token_ids"],
        "token_type_ids": tensors["segment_ids"],
        "attention_mask": tensors["padding_mask"],
    }
    positions, targets = tensors["mask_positions"], tensors["mlm_logits"]
    ignored = torch.full_like(tensors["token_ids"], -100)
    all_labels = ignored.scatter(1, positions, targets)
    cross_entropy = torch.nn.functional.cross_entropy

    def loss_of_all():
        return model(
            **inputs, labels=all_labels, sentence_order_label=tensors["sop_logits"]
        ).loss

    def loss_of_masked():
        encoded = model.albert(**inputs)
        hidden = encoded.last_hidden_state
        indices = positions[:, :, None].expand(-1, -1, hidden.shape[-1])
        mlm_logits = model.predictions(hidden.gather(1, indices)).flatten(0, 1)
        sop_logits = model.sop_classifier(encoded.pooler_output)
        mlm_loss = cross_entropy(mlm_logits.float(), targets.flatten())
        return mlm_loss + cross_entropy(sop_logits.float(), tensors["sop_logits"])

    loss_of = loss_of_masked if masked_only else loss_of_all
    if compiled:
        loss_of = torch.compile(loss_of)

    def train():
        for _ in range(work["steps"]):
            with torch.autocast(device, dtype=torch.bfloat16, enabled=bfloat16):
                loss = loss_of()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        # Reading a result waits until the device has computed it.
        loss.item()

    train()
    return lambda: {"a step": seconds_of(train, work) / work["steps"]}


# === The matrix products alone ===


def step_products(work):
    """Returns the products of the forward pass of one pretraining step.

    Each is a tuple `(num_matrices, rows, inner, columns, count)`: so many products of
    `(rows, inner)` by `(inner, columns)`, `count` times. The backward pass has two more
    of the same size for each. Pooler and pair head read one token of each row, and are
    too small to count.
    """
    config, length = work["config"], work["sequence_length"]
    hidden, embedding = config["hidden_dim"], config["embedding_dim"]
    inner = config["intermediate_dim"]
    layers = config["num_layers"] * config["num_inner_repetitions"]
    heads, head = config["num_heads"], hidden // config["num_heads"]
    rows = work["batch_size"]
    tokens, masked = rows * length, rows * work["num_predictions"]
    return [
        (1, tokens, embedding, hidden, 1),
        (1, tokens, hidden, hidden, 4 * layers),
        (rows * heads, length, head, length, layers),
        (rows * heads, length, length, head, layers),
        (1, tokens, hidden, inner, layers),
        (1, tokens, inner, hidden, layers),
        (1, masked, hidden, embedding, 1),
        (1, masked, embedding, config["vocabulary_size"], 1),
    ]


def products(work, dtype="float32"):
    """Returns a function that returns the seconds of the products of a step."""
    import tensorflow as tf

    def seconds(product):
        num_matrices, rows, inner, columns, count = product
        batch = () if num_matrices == 1 else (num_matrices,)
        x = tf.random.normal((*batch, rows, inner), dtype=dtype)
        w = tf.random.normal((*batch, inner, columns), dtype=dtype)

        def forward_and_backward(repetitions=1):
            for _ in range(repetitions):
                y = tf.matmul(x, w)
                tf.matmul(y, w, transpose_b=True)
                tf.matmul(x, y, transpose_a=True)

        forward_and_backward()
        # A third of the repetitions in a step is enough for an average.
        repetitions = math.ceil(count / 3)
        run = functools.partial(forward_and_backward, repetitions)
        return seconds_of(run, work) * count / repetitions

    return lambda: {"a step": sum(map(seconds, step_products(work)))}


def jax_peak(work, repetitions=20):
    """Returns a function that returns the seconds of a step's operations at the peak.

    The peak is the rate of bfloat16 products of large square matrices of random numbers,
    each of the product before.
    """
    import jax

    # Forward and both gradients.
    flops = 6 * sum(math.prod(product) for product in step_products(work))
    size = {"cpu": 1024, "gpu": 8192}[work["device"]]
    keys = jax.random.split(jax.random.key(0))
    x, w = (jax.random.normal(k, (size, size), "bfloat16") / size**0.5 for k in keys)

    @jax.jit
    def multiply(x, w):
        return jax.lax.fori_loop(0, repetitions, lambda _, x: x @ w, x)

    def run():
        multiply(x, w).block_until_ready()

    run()
    share = flops / (2 * size**3 * repetitions)
    return lambda: {"a step": share * min(seconds_of(run, work) for _ in range(3))}


# === All contenders ===

BFLOAT16 = {"dtype": "mixed_bfloat16"}
JAX = {"KERAS_BACKEND": "jax"}
MEMORY_RETURNED = {"TF_CPU_ALLOCATOR_USE_BFC": "false"}


def keras(make_model, needs=("tensorflow",), environment=None, **options):
    """Returns the contender of a Keras model."""
    make_model = functools.partial(make_model, **options)
    prepare = functools.partial(keras_steps, make_model=make_model)
    return Contender(prepare, needs, environment or {})


def huggingface(**options):
    """Returns the contender of transformers."""
    prepare = functools.partial(huggingface_steps, **options)
    return Contender(prepare, ("torch", "transformers"), {"KERAS_BACKEND": "torch"})


ours = functools.partial(keras, albert_keras_model)
ON_CPU = {
    "huggingface_masked_only": huggingface(masked_only=True),
    "huggingface": huggingface(),
    "keras_hub": keras(keras_hub_model, ("tensorflow", "keras_hub")),
    "albert_keras": ours(),
    "albert_keras_jit": ours(jit_compile=True),
    "products": Contender(products, ("tensorflow",)),
    "huggingface_bfloat16": huggingface(bfloat16=True),
    "albert_keras_bfloat16": ours(**BFLOAT16),
    "products_bfloat16": Contender(
        functools.partial(products, dtype="bfloat16"), ("tensorflow",)
    ),
}
ON_GPU = {
    "huggingface_masked_only_compiled_bfloat16": huggingface(
        masked_only=True, bfloat16=True, compiled=True
    ),
    "huggingface_bfloat16": ON_CPU["huggingface_bfloat16"],
    "albert_keras_jax_bfloat16": ours(("jax",), JAX, jit_compile=True, **BFLOAT16),
    "peak_jax_bfloat16": Contender(jax_peak, ("jax",), JAX),
}
CONTENDERS = {
    **ON_CPU,
    **ON_GPU,
    "albert_keras_rematerialized": ours(rematerialization=True),
    "albert_keras_block": ours(attention="block"),
    "albert_keras_jax": ours(("jax",), JAX, jit_compile=True),
    "albert_keras_memory_returned": ours(environment=MEMORY_RETURNED),
    "albert_keras_jit_memory_returned": ours(
        environment=MEMORY_RETURNED, jit_compile=True
    ),
}


if __name__ == "__main__":
    main()
