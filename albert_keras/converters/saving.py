"""Saving a model for others: our presets, and the formats of those we load from."""

from albert_keras.checks import check_choice
from albert_keras.converters.loading import CONVERTERS, KERAS, MODELS
from albert_keras.files import atomic_folder, check_replaceable_folder

# By name, the file by which a folder of that format is known, and may be replaced.
FORMATS = {
    KERAS: "config.json",
    "keras_hub": "config.json",
    "google": "albert_config.json",
    "huggingface": "config.json",
}


def save_checkpoint(model, path, format="keras", *, tokenizer=None):
    """Saves a model as a folder that another library loads, or as a preset of ours.

    Args:
        model: One of our models, with or without a head.
        path: str or path. The folder; one of the same format is replaced.
        format: str. `"keras"`, a preset of ours, for `from_preset` and
            `load_checkpoint`; `"google"`, a checkpoint of TensorFlow 1 with
            `albert_config.json`; `"huggingface"`, `model.safetensors` with
            `config.json`, for transformers; `"keras_hub"`, a preset for keras-hub's own
            classes.
        tokenizer: Tokenizer to save beside, or `None` for that of the model's
            preprocessor, if any. keras-hub's, which lower-cases nothing, is made of an
            `AlbertTokenizer` alone.

    Raises:
        TypeError: If `model` is none of ours.
        ValueError: If `format` is unknown, or has no model like this: no head of this
            kind, no such activation, layers that are not shared in groups; if the
            tokenizer has another number of pieces than the model, or `path` holds
            something else.

    Example:

    ```python
    pretrainer = ak.load_checkpoint("albert_base_v2", head="pretraining")
    ak.save_checkpoint(pretrainer, "for_transformers", format="huggingface")
    ```
    """
    check_choice("format", format, FORMATS)
    head = _head_of(model)
    backbone = model if head is None else model.backbone
    if tokenizer is None:
        tokenizer = getattr(getattr(model, "preprocessor", None), "tokenizer", None)
    _check_tokenizer(tokenizer, backbone.albert_config)
    check_replaceable_folder(path, FORMATS[format])
    with atomic_folder(path) as folder:
        if format == KERAS:
            model.save_to_preset(str(folder))
            if tokenizer is not None:
                tokenizer.save_to_preset(str(folder))
            return
        source = CONVERTERS[format]
        if head is not None and head not in source.HEAD_ROWS:
            raise ValueError(
                f"The format {format} must know the model's head: "
                f"{', '.join(source.HEAD_ROWS)}. Received: {head}."
            )
        source.write_checkpoint(model, head, folder, tokenizer)


def _head_of(model):
    for head, model_class in MODELS.items():
        if type(model) is model_class:
            return head
    names = ", ".join(model_class.__name__ for model_class in MODELS.values())
    raise TypeError(f"`model` must be one of {names}. Received: {model!r}.")


def _check_tokenizer(tokenizer, config):
    if tokenizer is None:
        return
    if tokenizer.vocabulary_size() != config.vocabulary_size:
        raise ValueError(
            "The tokenizer must have the model's vocabulary. Received: a tokenizer of "
            f"{tokenizer.vocabulary_size()} pieces, a model of {config.vocabulary_size}."
        )
