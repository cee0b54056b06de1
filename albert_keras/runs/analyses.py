"""Analyses of trained models on texts."""

import dataclasses
import itertools
import os

from albert_keras import sample
from albert_keras.analysis.figures import run_name
from albert_keras.checks import check_different
from albert_keras.config import MAX_POSITIONS
from albert_keras.options import SEEDS, Options, Range, option
from albert_keras.preprocessors.texts import pack_texts
from albert_keras.runs.finetuning_config import BATCH_SIZE
from albert_keras.text import read_documents
from albert_keras.tokenizers import load_tokenizer


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnalysisOptions(Options):
    """Options of `analyze similarity`."""

    num_texts: int = option("number of texts, the first ones", 64, Range(1, 10**6))
    sequence_length: int = option(
        "maximum number of tokens", 128, Range(4, MAX_POSITIONS)
    )
    random_weights: bool = option("compare with random weights", True)
    seed: int = option("seed of random weights", 0, SEEDS)


def measure_similarity(models, data=None, *, batch_size=BATCH_SIZE, **options):
    """Compares the input and the output of each layer of models; see `layer_similarity`.

    Args:
        models: List of str or path: runs, presets, checkpoints, names or addresses.
        data: Text files, see `read_documents`; each document is a text. Default: the
            embedded sample.
        batch_size: int. Texts of a batch.
        **options: Fields of `AnalysisOptions`: `num_texts`, int, the number of texts;
            `sequence_length`, int, the maximum number of tokens of a text, at most the
            number of positions; `random_weights`, bool, whether to compare with random
            weights in the first model's shape; `seed`, int, of these weights.

    Returns:
        Dict: `num_texts`, and `models`, a list of dicts of `name`, `is_random`,
        `l2_distance`, `angle` and `num_tokens`.

    Raises:
        FileNotFoundError: If a model, its vocabulary or a file is absent.
        ValueError: If two models have the same name.

    Example:

    ```python
    results = ak.runs.measure_similarity(["albert_nano_en"])
    ak.analysis.plot_similarity(results, "similarity.png")
    ```

    Reference: Lan et al. 2020, figure 1.
    """
    # Imported here, because they import Keras, which the options do not need.
    import keras

    from albert_keras.analysis import layer_similarity
    from albert_keras.converters import load_checkpoint
    from albert_keras.converters.architecture import with_new_weights

    options = AnalysisOptions(**options)
    names = [run_name(path) if os.path.exists(path) else str(path) for path in models]
    check_different("models", names)
    documents = read_documents(sample.CORPUS if data is None else data)
    first = itertools.islice(documents, options.num_texts)
    texts = [" ".join(lines) for lines in first]
    loaded = [
        (name, load_checkpoint(path, head=None, dtype="float32"), load_tokenizer(path))
        for name, path in zip(names, models, strict=True)
    ]
    if options.random_weights:
        keras.utils.set_random_seed(options.seed)
        name, backbone, tokenizer = loaded[0]
        name = f"{name}, random weights"
        loaded.append((name, with_new_weights(backbone), tokenizer))
    found = []
    for place, (name, backbone, tokenizer) in enumerate(loaded):
        longest = backbone.albert_config.max_sequence_length
        length = min(options.sequence_length, longest)
        examples = pack_texts(tokenizer.encoder, texts, sequence_length=length)
        about = {"name": name, "is_random": place == len(models)}
        found.append(about | layer_similarity(backbone, examples, batch_size))
    return {"num_texts": len(texts), "models": found}
