"""Contenders of `training.py`, run by `worker_process.serve`.

The torch worker may run where this package is not installed; therefore each measurement
imports what it needs.
"""

import functools
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tools.benchmarks.step_products import products_seconds
from tools.benchmarks.worker_process import seconds_of, serve


def make_batch(work):
    """Returns features and labels of one batch, the same for all contenders."""
    rng = np.random.default_rng(0)
    rows, length = work["batch_size"], work["sequence_length"]
    num_masked, vocabulary_size = (
        work["num_predictions"],
        work["config"]["vocabulary_size"],
    )
    positions = [rng.permutation(length)[:num_masked] for _ in range(rows)]
    features = {
        "token_ids": rng.integers(0, vocabulary_size, (rows, length), "int32"),
        "segment_ids": rng.integers(0, 2, (rows, length), "int32"),
        "padding_mask": np.ones((rows, length), "int32"),
        "mask_positions": np.sort(positions).astype("int32"),
    }
    labels = {
        "mlm_logits": rng.integers(0, vocabulary_size, (rows, num_masked), "int32"),
        "sop_logits": rng.integers(0, 2, rows, "int32"),
    }
    return features, labels


# --- Keras: this package and keras-hub ---


def albert_keras_model(work, dtype="float32", jit_compile=False, **overrides):
    from albert_keras.models import AlbertBackbone, AlbertPretrainer
    from albert_keras.optimizers import Lamb

    config = {**work["config"], **overrides}
    model = AlbertPretrainer(AlbertBackbone(**config, dtype=dtype))
    model.compile(Lamb(1e-3, global_clipnorm=1.0), jit_compile=jit_compile)
    model.optimizer.build(model.trainable_variables)
    return model


def keras_hub_model(work, jit_compile=False):
    """Returns keras-hub's backbone with its masked LM head and a pair head."""
    import keras
    import keras_hub

    config = work["config"]
    names = (
        "vocabulary_size num_layers num_heads embedding_dim hidden_dim intermediate_dim "
        "num_groups num_inner_repetitions dropout max_sequence_length num_segments"
    )
    backbone = keras_hub.models.AlbertBackbone(
        **{name: config[name] for name in names.split()}
    )
    masked_lm = keras_hub.models.AlbertMaskedLM(backbone)
    encoded = backbone(backbone.input)
    inputs = masked_lm.input
    mlm_logits = masked_lm.masked_lm_head(
        encoded["sequence_output"], inputs["mask_positions"]
    )
    sop_logits = keras.layers.Dense(2)(encoded["pooled_output"])
    model = keras.Model(inputs, {"mlm_logits": mlm_logits, "sop_logits": sop_logits})
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(
        keras.optimizers.Lamb(1e-3, weight_decay=0.01, global_clipnorm=1.0),
        {name: loss for name in model.output},
        jit_compile=jit_compile,
    )
    return model


def keras_steps(make_model, work):
    """Returns a function that trains for `work["steps"]` and returns seconds per step.

    Only the steps of `fit` are measured, not its start and end.
    """
    import keras

    clock, steps = getattr(time, work["clock"]), work["steps"]
    tile = functools.partial(np.concatenate, axis=0)
    features, labels = make_batch(work)
    features = {name: tile([value] * steps) for name, value in features.items()}
    labels = {name: tile([value] * steps) for name, value in labels.items()}
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

    def measure():
        seconds.clear()
        model.fit(
            features,
            labels,
            batch_size=work["batch_size"],
            shuffle=False,
            verbose=0,
            callbacks=[timer],
        )
        return statistics.mean(seconds)

    measure()
    return measure


def lamb_update(work):
    """Returns a function that returns the seconds of one clipped update."""
    import tensorflow as tf

    model = albert_keras_model(work)
    variables = model.trainable_variables
    gradients = [tf.random.normal(v.shape, stddev=1e-3) for v in variables]

    @tf.function
    def update():
        model.optimizer.apply_gradients(zip(gradients, variables, strict=True))

    update()
    return lambda: statistics.median(seconds_of(update, work) for _ in range(5))


def host_work(work, steps_per_log=50):
    """Returns a function that returns the share of time outside the compiled step.

    It is measured in a run of the trainer with all its output, from the first step to
    the last.
    """
    import tensorflow as tf

    from albert_keras.pretraining import PretrainingTask
    from albert_keras.training import Trainer, TrainerConfig

    task, model = PretrainingTask(), albert_keras_model(work)
    batches = tf.data.Dataset.from_tensors(make_batch(work)).repeat()
    config = TrainerConfig(num_steps=2 + work["steps"], steps_per_log=steps_per_log)
    Trainer("", config).compile(model, model.optimizer, task.losses(), task.metrics())
    run_steps, spans = model.make_train_function(), []

    def watched(iterator):
        start = time.perf_counter()
        logs = run_steps(iterator)
        spans.append((start, time.perf_counter()))
        return logs

    model.train_function = watched

    def measure():
        spans.clear()
        with tempfile.TemporaryDirectory() as folder:
            Trainer(folder, config).fit(model, lambda step: batches)
        total = spans[-1][1] - spans[0][0]
        return 1 - sum(end - start for start, end in spans) / total

    return measure


# --- torch: Hugging Face ---


def huggingface_steps(work, masked_only=False, bfloat16=False, compiled=False):
    """Returns a function that trains for `work["steps"]` and returns seconds per step.

    Attention is torch's `scaled_dot_product_attention`, the default of transformers.

    Args:
        masked_only: bool. Pass only the masked positions to the head, as all others do;
            `AlbertForPreTraining` passes every position.
        bfloat16: bool. Compute under torch's automatic mixed precision.
        compiled: bool. Compile model and loss by `torch.compile`.
    """
    import torch
    import transformers

    config, device = work["config"], {"cpu": "cpu", "gpu": "cuda"}[work["device"]]
    model = transformers.AlbertForPreTraining(
        transformers.AlbertConfig(
            vocab_size=config["vocabulary_size"],
            embedding_size=config["embedding_dim"],
            hidden_size=config["hidden_dim"],
            num_hidden_layers=config["num_layers"],
            num_hidden_groups=config["num_groups"],
            num_attention_heads=config["num_heads"],
            intermediate_size=config["intermediate_dim"],
            inner_group_num=config["num_inner_repetitions"],
            hidden_act={"gelu_tanh": "gelu_new"}.get(
                config["activation"], config["activation"]
            ),
            hidden_dropout_prob=config["dropout"],
            attention_probs_dropout_prob=config["attention_dropout"]
            or config["dropout"],
            max_position_embeddings=config["max_sequence_length"],
            classifier_dropout_prob=0.0,
        )
    )
    model = model.train().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
    cross_entropy = torch.nn.functional.cross_entropy
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
    positions, pieces = tensors["mask_positions"], tensors["mlm_logits"]
    ignored = torch.full_like(tensors["token_ids"], -100)
    all_labels = ignored.scatter(1, positions, pieces)

    def loss_of_all():
        return model(
            **inputs, labels=all_labels, sentence_order_label=tensors["sop_logits"]
        ).loss

    def loss_of_masked():
        encoded = model.albert(**inputs)
        indices = positions[:, :, None].expand(-1, -1, config["hidden_dim"])
        masked = encoded.last_hidden_state.gather(1, indices)
        mlm_logits = model.predictions(masked)
        sop_logits = model.sop_classifier(encoded.pooler_output)
        return cross_entropy(
            mlm_logits.flatten(0, 1).float(), pieces.flatten()
        ) + cross_entropy(sop_logits.float(), tensors["sop_logits"])

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
    return lambda: seconds_of(train, work) / work["steps"]


# --- The products alone ---


def tensorflow_products(work, dtype="float32"):
    import tensorflow as tf

    make = functools.partial(tf.random.normal, dtype=dtype)
    return functools.partial(products_seconds, work, make, tf.matmul)


def torch_products(work, dtype="float32"):
    import torch

    def multiply(a, b, transpose_a=False, transpose_b=False):
        return torch.matmul(a.mT if transpose_a else a, b.mT if transpose_b else b)

    make = functools.partial(torch.randn, dtype=getattr(torch, dtype))
    return functools.partial(products_seconds, work, make, multiply)


def jax_peak(work, repetitions=20):
    """Returns a function that returns the most FLOP per second of bfloat16 products.

    They are of large square matrices of random numbers, each of the product before.
    """
    import jax

    size = {"cpu": 1024, "gpu": 8192}[work["device"]]
    keys = jax.random.split(jax.random.key(0))
    x, w = (
        jax.random.normal(key, (size, size), "bfloat16") / size**0.5 for key in keys
    )

    @jax.jit
    def multiply(x, w):
        return jax.lax.fori_loop(0, repetitions, lambda _, x: x @ w, x)

    def measure():
        multiply(x, w).block_until_ready()
        seconds = [
            seconds_of(lambda: multiply(x, w).block_until_ready(), work)
            for _ in range(3)
        ]
        return 2 * size**3 * repetitions / min(seconds)

    return measure


# --- All measurements ---

BFLOAT16 = "mixed_bfloat16"


def albert_keras_steps(**options):
    return functools.partial(
        keras_steps, functools.partial(albert_keras_model, **options)
    )


MEASUREMENTS = {
    "tensorflow": {
        "products_tensorflow": tensorflow_products,
        "albert_keras": albert_keras_steps(),
        "albert_keras_jit": albert_keras_steps(jit_compile=True),
        "keras_hub": functools.partial(keras_steps, keras_hub_model),
        "lamb_update": lamb_update,
        "host_work_share": host_work,
        "host_work_share_of_logged_steps": functools.partial(
            host_work, steps_per_log=1
        ),
        "products_tensorflow_bfloat16": functools.partial(
            tensorflow_products, dtype="bfloat16"
        ),
        "albert_keras_bfloat16": albert_keras_steps(dtype=BFLOAT16),
        "albert_keras_jit_bfloat16": albert_keras_steps(
            dtype=BFLOAT16, jit_compile=True
        ),
    },
    "tensorflow_memory_returned": {
        "albert_keras_memory_returned": albert_keras_steps(),
        "albert_keras_jit_memory_returned": albert_keras_steps(jit_compile=True),
    },
    "jax": {
        "peak_jax_bfloat16": jax_peak,
        "albert_keras_jax": albert_keras_steps(jit_compile=True),
        "albert_keras_jax_bfloat16": albert_keras_steps(
            dtype=BFLOAT16, jit_compile=True
        ),
    },
    "torch": {
        "products_torch": torch_products,
        "huggingface": huggingface_steps,
        "huggingface_masked_only": functools.partial(
            huggingface_steps, masked_only=True
        ),
        "products_torch_bfloat16": functools.partial(torch_products, dtype="bfloat16"),
        "huggingface_bfloat16": functools.partial(huggingface_steps, bfloat16=True),
        "huggingface_masked_only_compiled_bfloat16": functools.partial(
            huggingface_steps, masked_only=True, bfloat16=True, compiled=True
        ),
    },
}

NEEDS = {
    "tensorflow": ["tensorflow"],
    "tensorflow_memory_returned": ["tensorflow"],
    "jax": ["jax"],
    "torch": ["torch", "transformers"],
}


if __name__ == "__main__":
    serve(MEASUREMENTS, NEEDS)
