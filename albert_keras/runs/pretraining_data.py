"""Prepared data of a pretraining run, and checks against tokenizer and options."""

import dataclasses
import pathlib

from albert_keras.pretraining import PretrainingDataConfig, read_description
from albert_keras.pretraining.jobs import HELD_OUT
from albert_keras.pretraining.records import find_shards
from albert_keras.pretraining.token_store import is_store
from albert_keras.runs.training import check_fits
from albert_keras.system.fingerprints import fingerprint_files
from albert_keras.system.storage import to_path

# Fields of `PretrainingDataConfig` that a token store has already used.
PREPARED = ("word_segmenter", "num_shards", "dupe_factor")


def example_config(folder, config):
    """Returns the `PretrainingDataConfig` for examples from a token store.

    For finished examples it is None.

    Raises:
        ValueError: If options are given that have no effect on prepared data.
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
    """Returns the `PretrainingDataConfig` of data, or the default one if unknown."""
    description = read_description(folder) or {}
    return PretrainingDataConfig.from_dict(description.get("config", {}))


def fingerprint_data(folder):
    """Returns a list with the `[path, fingerprint]` of each file of prepared data.

    Raises:
        FileNotFoundError: If there is no data, or a file is missing.
    """
    description = read_description(folder)
    if is_store(description):
        names = description["shards"]
        return fingerprint_files([to_path(folder) / name for name in names])
    return fingerprint_files(find_shards(folder))


def check_data(folder, tokenizer, shape, examples=None):
    """Checks that prepared data, if it has a description, fits tokenizer and model.

    `examples` is the `PretrainingDataConfig`, or None for that of the data.

    Raises:
        ValueError: If the data was made with another tokenizer, its rows are longer than
            the model's positions, or they are packed and the model has block attention.
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
    """Returns the folder of the training data, after preparing it from text."""
    if config.data:
        return config.data
    if strategy.num_workers > 1:
        raise ValueError(
            "Several workers need `data`, of `prepare-data`, on a disk that all of them "
            f"see. Received: text and {strategy.num_workers} workers."
        )
    # Before the long preparation.
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
