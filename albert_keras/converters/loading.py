"""Loading of checkpoints and presets from any source, recognized by its files."""

from albert_keras.checks import check_choice, shortened
from albert_keras.config import ATTENTION_FIELDS, AlbertConfig
from albert_keras.converters.albert_zh import AlbertZh
from albert_keras.converters.architecture import change_architecture, with_new_weights
from albert_keras.converters.google import GoogleCheckpoint, SavedModel
from albert_keras.converters.heads import head_of
from albert_keras.converters.huggingface import WEIGHT_READERS, HuggingFaceFolder
from albert_keras.converters.keras_hub import KerasHubModel, on_disk
from albert_keras.converters.own_preset import OwnPreset
from albert_keras.converters.sentence_transformers import SentenceTransformersFolder
from albert_keras.models import HEADS
from albert_keras.presets.hub import known_names, local_files

# The first one that finds its files is used. sentence-transformers comes before Hugging
# Face, whose files such a folder has too.
CONVERTERS = {
    checkpoint.source: checkpoint
    for checkpoint in (
        *(OwnPreset, SentenceTransformersFolder, HuggingFaceFolder, KerasHubModel),
        *(SavedModel, AlbertZh, GoogleCheckpoint),
    )
}
SOURCES = (*CONVERTERS,)
# Files that are not read, and the remedy.
_OTHER_NAME = "under another name: rename it to"
_OTHER_FILES = {
    "adapter_config.json": "an adapter of PEFT alone: merge it into its model by PEFT's "
    "`merge_and_unload`, and save that model",
    "*.msgpack": "of Flax: load it by transformers 4 with `from_flax=True`, and save it",
    "*.onnx": "a graph without names of weights: use the model that it was made from",
    "*.gguf": "of llama.cpp: use the model that it was made from",
    "*.index": "a part of a checkpoint: give its path without .index",
    "*.safetensors": f"{_OTHER_NAME} model.safetensors",
    "*.bin": f"{_OTHER_NAME} pytorch_model.bin",
    "*.h5": f"{_OTHER_NAME} tf_model.h5",
    "*.pt*": f"{_OTHER_NAME} pytorch_model.bin",
    "*.ckpt": "of a training program: save its state dict as pytorch_model.bin",
}


def load_checkpoint(
    path,
    config=None,
    head="auto",
    tokenizer=None,
    *,
    num_classes=None,
    source=None,
    report=None,
    dtype=None,
):
    """Loads a published checkpoint, or a preset of this package, into a model.

    The files show the source. `modules.json` with a pooling module is a folder of
    sentence-transformers; `model.safetensors`, `pytorch_model.bin` or `tf_model.h5` is a
    Hugging Face folder; `*.index` is a checkpoint of TensorFlow 1, in Google's layout or
    albert_zh's older one; `saved_model.pb` is a SavedModel, as from TF-Hub; `config.json`
    with a class of keras-hub or of this package is a preset. Nothing in the files is
    executed. A vocabulary beside them must not be larger than the token table.

    Args:
        path: str or path. A folder, also of a run, or the prefix of a TensorFlow
            checkpoint; an address, `hf://USER/MODEL` or `kaggle://...`; the name of a
            published or shipped model, such as `albert_base_v2` (see
            `albert_keras.presets.hub`); or a model of keras-hub.
        config: `AlbertConfig`, or `None` to read the one beside the weights. A preset
            has its own; SavedModels of TF-Hub have none.
        head: str or `None`. `"auto"` loads the head of the files, or an `AlbertBackbone`
            if they have none. `None` loads an `AlbertBackbone`. Otherwise a key of
            `HEADS`: `"pretraining"`, `"sequence_classification"`,
            `"token_classification"`, `"question_answering"`,
            `"joint_question_answering"` (Google's for SQuAD 2.0), `"multiple_choice"` or
            `"text_embedding"`. If the files lack a head for fine-tuning, the model has a
            new one, with a warning.
        tokenizer: Tokenizer of this package, or str or path for `load_tokenizer`, for the
            model's preprocessor. `None` loads the one beside the weights, `False` none.
        num_classes: int, or `None`. Classes of the head, by default as in the files, or
            2. If the files have another number, the head is new.
        source: str or `None`. One of `SOURCES`, if the files fit several.
        report: path or `None`. JSON file to write, even if the checkpoint does not fit,
            with the `status` (see `Entry`), names and shapes of every variable.
        dtype: Keras dtype policy, such as `"mixed_bfloat16"`. Default: Keras' global
            policy, or the policy that a preset of this package was saved with.

    Returns:
        The model. Every variable is loaded, except those of a new head. If files have
        only the masked-word head of pretraining, the model is, with a warning, an
        `AlbertPretrainer` with `num_pair_classes=0`.

    Raises:
        FileNotFoundError: If no known checkpoint is at `path`, or its config is absent.
        ValueError: If a variable is missing, unexpected or mis-shaped (the message lists
            all), the pretraining head is absent, the config changes what is computed, the
            vocabulary is larger than the token table, or a file is damaged or links to
            another one.

    Example:

    ```python
    pretrainer = ak.load_checkpoint("albert_base_v2")
    classifier = ak.load_checkpoint("my_run", head="sequence_classification")
    ```
    """
    check_choice("head", head, ("auto", None, *HEADS))
    if source is not None:
        check_choice("source", source, SOURCES)
    if not isinstance(config, AlbertConfig | None):
        raise TypeError(
            f"`config` must be an `AlbertConfig` or `None`. Received: {config!r}."
        )
    with on_disk(path) as local:
        checkpoint = find_checkpoint(local, source, config)
        head = checkpoint.head if head == "auto" else head
        return checkpoint.load(head, tokenizer, num_classes, report, dtype)


def load_config(path, source=None):
    """Returns the `AlbertConfig` that a checkpoint states, without reading weights.

    Arguments and errors are those of `load_checkpoint`. Only `load_checkpoint` reads from
    the weights whether embeddings as wide as the layers are projected.
    """
    return find_checkpoint(path, source).config


def read_model(cls, preset, load_weights, options):
    """Returns a model of a class; see `AlbertModel.from_preset`, which calls this.

    Args:
        cls: Class of the model, an `AlbertModel`.
        preset, load_weights: As of `from_preset`.
        options: Dict of its other arguments.
    """
    if head_of(cls) is None and "tokenizer" in options:
        raise ValueError(
            f"A backbone must have no `tokenizer`. Received: {options['tokenizer']}."
        )
    checkpoint = find_checkpoint(preset)
    changes = {n: options.pop(n) for n in ATTENTION_FIELDS if n in options}
    if isinstance(checkpoint, OwnPreset):
        model = checkpoint.load_class(cls, load_weights, **options)
    else:
        model = checkpoint.load(head_of(cls), **options)
        model = model if load_weights else with_new_weights(model)
    return change_architecture(model, **changes) if changes else model


def find_checkpoint(path, source=None, config=None):
    """Returns the `Checkpoint` at a path, recognized by its files.

    Args:
        path: str or path, as for `load_checkpoint`.
        source: str or `None`. The only source to try.
        config: `AlbertConfig` in place of the one in the files, or `None`.
    """
    path = local_files(path)
    for kind in CONVERTERS.values() if source is None else [CONVERTERS[source]]:
        files = kind.find_files(path)
        if files is not None:
            return kind(files, path, config)
    raise FileNotFoundError(
        "`path` must be a run (`run.json`) or a known checkpoint: Google or "
        "albert_zh (`*.index`), a SavedModel (`saved_model.pb` and `variables/`), "
        f"Hugging Face ({', '.join(WEIGHT_READERS)}), a preset "
        "(`config.json`), an address such as hf://USER/MODEL, or a name "
        f"({known_names()}). Received: path={str(path)!r}"
        + (f", source={source!r}" if source else "")
        + _what_is_there(path)
    )


def _what_is_there(path):
    """Returns the end of an error: the files at a path, and a remedy."""
    inside = [path] if path.is_file() else sorted(path.iterdir())
    for folder in [path.parent, *inside]:
        if folder.is_dir() and HuggingFaceFolder.find_files(folder):
            return f". Give the folder that holds the weights: '{folder}'."
    inside += [file for folder in inside for file in sorted(folder.glob("*"))]
    for pattern, remedy in _OTHER_FILES.items():
        for file in inside:
            if file.match(pattern):
                return f", where '{file}' is {remedy}."
    names = ", ".join(file.name for file in inside)
    return f", which holds no weights{', but ' * bool(names)}{shortened(names)}."
