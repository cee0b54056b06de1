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
from albert_keras.runs.reporting import note
from albert_keras.text import read_documents
from albert_keras.tokenizers import load_tokenizer

DEFAULTS = AnalysisOptions()


class AnalyzedModel(NamedTuple):
    """A backbone with its vocabulary, and a name for tables and pictures."""

    name: str
    backbone: Any
    tokenizer: Any

    def pack(self, texts, sequence_length):
        """Returns `Examples` of texts, with their beginnings."""
        from albert_keras.preprocessors.texts import pack_texts

        longest = self.backbone.albert_config.max_sequence_length
        length = min(sequence_length, longest)
        return pack_texts(self.tokenizer.encoder, texts, sequence_length=length)


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
        examples = model.pack(texts, sequence_length)
        about = {"name": model.name, "is_random": is_random}
        found.append(about | layer_similarity(model.backbone, examples, batch_size))
    return {"num_texts": len(texts), "models": found}


def _with_random_weights(model, seed):
    import keras

    from albert_keras.models import AlbertBackbone

    keras.utils.set_random_seed(seed)
    backbone = AlbertBackbone(**model.backbone.albert_config.to_dict())
    return model._replace(name=f"{model.name}, random weights", backbone=backbone)
