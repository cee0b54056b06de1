"""Analyses of trained models by their names, on texts of files or the embedded sample."""

import itertools
import os
from typing import Any, NamedTuple

from albert_keras import sample
from albert_keras.analysis.figures import run_name
from albert_keras.checks import check_different
from albert_keras.converters import load_checkpoint
from albert_keras.runs.analysis_options import AnalysisOptions
from albert_keras.runs.finetuning_config import BATCH_SIZE
from albert_keras.runs.inference import AS_IN_THE_RUN
from albert_keras.runs.reporting import note
from albert_keras.runs.rows import read_rows, split_rows, with_reading
from albert_keras.tasks import TASKS
from albert_keras.text import read_documents
from albert_keras.tokenizers import load_tokenizer

DEFAULTS = AnalysisOptions()


class AnalyzedModel(NamedTuple):
    """A backbone with its vocabulary, and a name for tables and pictures."""

    name: str
    backbone: Any
    tokenizer: Any

    def pack(self, texts, pairs=None, sequence_length=DEFAULTS.sequence_length):
        """Returns `Examples` of texts, or of pairs, with their beginnings."""
        from albert_keras.preprocessors.texts import pack_texts

        longest = self.backbone.albert_config.max_sequence_length
        length = min(sequence_length, longest)
        return pack_texts(self.tokenizer.encoder, texts, pairs, sequence_length=length)


def load_analyzed(path):
    """Returns a run, preset, checkpoint, name or address, which computes in float32."""
    backbone = load_checkpoint(path, head=None, dtype="float32")
    return AnalyzedModel(_name_of(path), backbone, load_tokenizer(path))


def _name_of(path):
    return run_name(path) if os.path.exists(path) else str(path)


def read_texts(data, num_texts):
    """Returns the first documents of text files, each as one str; of the sample if None.

    `data` are files, folders or patterns, as for `read_documents`.
    """
    documents = read_documents(sample.CORPUS if data is None else data)
    return [" ".join(lines) for lines in itertools.islice(documents, num_texts)]


def measure_similarity(
    models,
    data=None,
    *,
    num_texts=DEFAULTS.num_texts,
    sequence_length=DEFAULTS.sequence_length,
    batch_size=BATCH_SIZE,
    random_weights=DEFAULTS.random_weights,
    seed=DEFAULTS.seed,
):
    """Compares the input and the output of each layer of models; see `layer_similarity`.

    Args:
        models: List of str or path: runs, presets, checkpoints, names or addresses.
        data: Text files, see `read_documents`, of which each document is a text. By
            default the embedded sample.
        num_texts: int. Texts, the first ones.
        sequence_length: int. Most tokens of a text, and no more than a model takes.
        batch_size: int. Texts of a batch.
        random_weights: bool. Whether to compare with random weights, of the first
            model's shape.
        seed: int, of the random weights, by `keras.utils.set_random_seed`.

    Returns:
        Dict: `num_texts`, and `models`, a list of dicts of `name`, `is_random`,
        `l2_distance`, `angle` and `num_tokens`.

    Raises:
        FileNotFoundError: If a model, its vocabulary or a file is absent.
        ValueError: If two models have the same name.

    Example:

    ```python
    results = ak.measure_similarity(["albert_nano_en"])
    ak.plot_similarity(results, "similarity.png")
    ```

    Reference: Lan et al. 2020, figure 1.
    """
    from albert_keras.analysis.similarity import layer_similarity

    check_different("models", [_name_of(path) for path in models])
    texts = read_texts(data, num_texts)
    loaded = [(load_analyzed(path), False) for path in models]
    if random_weights:
        loaded.append((_with_random_weights(loaded[0][0], seed), True))
    found = []
    for model, is_random in loaded:
        examples = model.pack(texts, sequence_length=sequence_length)
        about = {"name": model.name, "is_random": is_random}
        found.append(about | layer_similarity(model.backbone, examples, batch_size))
    return {"num_texts": len(texts), "models": found}


def _with_random_weights(model, seed):
    import keras

    from albert_keras.models import AlbertBackbone

    keras.utils.set_random_seed(seed)
    backbone = AlbertBackbone(**model.backbone.albert_config.to_dict())
    return model._replace(name=f"{model.name}, random weights", backbone=backbone)


def read_attention(
    model, text, pair=None, *, sequence_length=DEFAULTS.sequence_length, head=None
):
    """Returns the attention of a text or a pair; see `attention_maps`.

    Args:
        model: str or path: a run, preset, checkpoint, name or address.
        text, pair: str; `pair` may be `None`.
        sequence_length: int. Most tokens; the beginnings of longer texts are kept.
        head: int or `None`. A head that the model must have, from 1 on.

    Returns:
        Dict: `model`, `tokens`, `sentence_b_start`, `attention` and `entropy_bits`, as
        `AttentionMaps.to_dict` has them.

    Raises:
        FileNotFoundError: If the model or its vocabulary is absent.
        ValueError: If there is no such head.

    Example:

    ```python
    results = ak.read_attention("albert_nano_en", "It rains.", "It pours.")
    ak.plot_attention(results, "attention.png")
    ```
    """
    from albert_keras.analysis.attention_maps import attention_maps, check_head

    loaded = load_analyzed(model)
    if head is not None:
        check_head(head, loaded.backbone.albert_config.num_heads)
    examples = loaded.pack([text], pair and [pair], sequence_length)
    maps = attention_maps(loaded.backbone, loaded.tokenizer, examples)
    return {"model": loaded.name, **maps.to_dict()}


def find_neighbours(model, words, num_neighbours=DEFAULTS.num_neighbours):
    """Returns the pieces that are nearest to words; see `nearest_pieces`.

    Args:
        model: str or path: a run, preset, checkpoint, name or address.
        words: list of str.
        num_neighbours: int. Pieces for each word.

    Raises:
        FileNotFoundError: If the model or its vocabulary is absent.
        ValueError: If a word has no piece.

    Example:

    ```python
    ak.find_neighbours("albert_mini_en", ["king"])["king"]["projected"]
    ```
    """
    from albert_keras.analysis.neighbours import nearest_pieces

    loaded = load_analyzed(model)
    if not loaded.backbone.albert_config.projects_embeddings:
        note(f"'{model}' has one space: its embeddings are as wide as its layers")
    return nearest_pieces(loaded.backbone, loaded.tokenizer, words, num_neighbours)


def probe_model(
    model,
    data,
    held_out=None,
    *,
    held_out_share=DEFAULTS.held_out_share,
    sequence_length=DEFAULTS.sequence_length,
    batch_size=BATCH_SIZE,
    seed=DEFAULTS.seed,
    reading=AS_IN_THE_RUN,
):
    """Measures what a linear classifier reads from each depth; see `probe_layers`.

    Args:
        model: str or path: a run, preset, checkpoint, name or address.
        data: str or path. A table of texts, or pairs, with one label each.
        held_out: str, path or `None`. Rows to measure on, instead of a share of `data`.
        held_out_share: float, that share.
        sequence_length: int. Most tokens of a row.
        batch_size: int. Rows of a batch.
        seed: int, of the choice of held-out rows.
        reading: `RowOptions`, for other columns than `text` and `label`.

    Returns:
        Dict: `model`, and what `probe_layers` returns.

    Raises:
        FileNotFoundError: If the model, its vocabulary or a file is absent.
        ValueError: If there are no rows of two labels to train on.

    Example:

    ```python
    ak.plot_probe(ak.probe_model("albert_nano_en", "reviews.tsv"), "probe.png")
    ```
    """
    from albert_keras.analysis.probe import probe_layers

    task = with_reading(TASKS["text-classification"], reading, data)
    rows = read_rows(task, data)
    if held_out is None:
        parts = split_rows(task, rows, held_out_share, seed)
    else:
        parts = rows, read_rows(task, held_out)
    loaded = load_analyzed(model)
    train, test = (
        loaded.pack(part.texts, part.pairs, sequence_length) for part in parts
    )
    labels = [part.labels for part in parts]
    results = probe_layers(
        loaded.backbone, train, labels[0], test, labels[1], batch_size
    )
    return {"model": loaded.name, **results}
