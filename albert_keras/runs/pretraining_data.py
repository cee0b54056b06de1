"""Prepared data of a pretraining run, checked against its tokenizer and options."""

import dataclasses
import pathlib

from albert_keras.pretraining import PretrainingDataConfig, read_description
from albert_keras.pretraining.jobs import HELD_OUT
from albert_keras.pretraining.records import find_shards
from albert_keras.pretraining.token_store import is_store
from albert_keras.runs.training import check_fits
from albert_keras.system.fingerprints import fingerprint_files
from albert_keras.system.storage import to_path

# Fields of `PretrainingDataConfig` that a store of token ids was already prepared with.
PREPARED = ("word_segmenter", "num_shards", "dupe_factor")


def example_config(folder, config):
    """Returns how examples are made from token ids, or None if they are made already.

    Raises:
        ValueError: If options are given that the prepared data no longer depends on.
    """
    given = config.data_options if config.data else {}
    description = read_description(folder)
    late = given.keys() & {*PREPARED} if is_store(description) else set(given)
    if late:
        raise ValueError(
            "Prepared data cannot change: these options go with `text`. "
            f"Received: {', '.join(sorted(late))} with data='{config.data}'."
        )
    if not is_store(description):
        return None
    return dataclasses.replace(read_config(folder), **given)


def read_config(folder):
    """Returns the configuration of data; the default one for files without any."""
    description = read_description(folder) or {}
    return PretrainingDataConfig.from_dict(description.get("config", {}))


def fingerprint_data(folder):
    """Returns `[path, fingerprint]` of each file of prepared data, in a list.

    Raises:
        FileNotFoundError: If there is no data, or a file of it is missing.
    """
    description = read_description(folder)
    if is_store(description):
        names = description["shards"]
        return fingerprint_files([to_path(folder) / name for name in names])
    return fingerprint_files(find_shards(folder))


def check_data(folder, tokenizer, shape, examples=None):
    """Checks prepared data, if it has a description, against tokenizer and model.

    `examples` is the `PretrainingDataConfig`, or None for that of the data.

    Raises:
        ValueError: If it was made with another tokenizer, is too long, or is packed
            where the model has block attention.
    """
    description = read_description(folder)
    if description is None:
        return
    examples = examples or read_config(folder)
    check_fits(tokenizer, shape, examples.sequence_length)
    if examples.packing == "filled" and shape.attention == "block":
        raise ValueError(
            "Block attention takes rows of one example. Received: packing=filled, "
            "attention=block. Use packing=padded, or attention=full."
        )
    fingerprint = description.get("tokenizer_fingerprint")
    if fingerprint != tokenizer.fingerprint():
        raise ValueError(
            "The data must be made with the given tokenizer. Received: fingerprint "
            f"{fingerprint} of '{folder}', {tokenizer.fingerprint()} of the tokenizer."
        )


def find_data(config, tokenizer, shape, strategy):
    """Returns the folder of the training data, which it prepares if it is text."""
    if config.data:
        return config.data
    if strategy.num_workers > 1:
        raise ValueError(
            "Several workers need `data`, of `prepare-data`, on a disk that all of them "
            f"see. Received: text and {strategy.num_workers} workers."
        )
    # Before the long work, not after it.
    check_fits(tokenizer, shape, config.data_config.sequence_length)
    folder = data_folder(config)
    holds_out = not config.validation_data
    config.prepare(config.text, tokenizer, folder, holds_out=holds_out)
    return folder


def data_folder(config):
    """Returns the folder of the data that a run prepares from text."""
    return pathlib.Path(config.run, "tokens")


def held_out_of(data):
    """Returns the folder of the documents held out of prepared data, or None."""
    folder = to_path(data) / HELD_OUT
    return None if read_description(folder) is None else folder
