"""Published layouts: what loads, to which weights, and what is refused."""

import dataclasses
import functools
import warnings

import numpy as np
import pytest

from albert_keras.converters import load_checkpoint
from albert_keras.converters.heads import head_of
from tests.converters.published_layouts import LAYOUTS, REFUSED, REFUSED_KEYS, Layout

# Sizes that layouts may change: of tables, which they pad, and of shared layers.
SIZES = ("vocabulary_size", "max_sequence_length", "num_layers")


@functools.cache
def load_fixture(folder):
    # Its outputs are those of transformers: tests/converters/loading_test.py.
    return load_checkpoint(folder)


def load(folder, pattern):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load_checkpoint(folder)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == bool(pattern), messages
    if pattern:
        with pytest.warns(UserWarning, match=pattern):
            warnings.warn(messages[0], stacklevel=1)
    return model


@pytest.mark.parametrize("name", LAYOUTS)
def test_layout_loads_to_the_weights_of_its_fixture(name, fixtures, tmp_path):
    layout = LAYOUTS[name]
    folder = layout.write(fixtures, tmp_path / "published")
    model = load(folder, layout.warning)
    assert head_of(model) == (layout.head if layout.loads else None)
    assert getattr(model, "labels", None) == layout.labels
    expected = load_fixture(fixtures / "hf_shared" / layout.head)
    config, other = (
        getattr(each, "backbone", each).albert_config for each in (model, expected)
    )
    sizes = {name: getattr(config, name) for name in SIZES}
    assert config == dataclasses.replace(other, **sizes)
    both = (model, expected)
    reads_pooled_output = all(getattr(m, "reads_pooled_output", True) for m in both)
    weights = {variable.path: np.array(variable) for variable in expected.weights}
    for variable in model.weights:
        wanted = weights[variable.path]
        found = np.array(variable)[: len(wanted)]
        is_new = "pooler" in variable.path and not reads_pooled_output
        assert is_new or np.abs(found - wanted).max() <= layout.tolerance, variable.path
    if layout.files.keys() & {"vocab.txt", "tokenizer.json"}:
        preprocessor = model.preprocessor
        assert preprocessor.tokenizer("好电影") == [5, 6, 7]
        assert preprocessor.sequence_length == min(512, config.max_sequence_length)


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_are_not_read_are_named(name, fixtures, tmp_path):
    files, message = REFUSED[name]
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
    stated = fixtures / "hf_shared" / "pretraining" / "config.json"
    if "model.safetensors.index.json" in files:
        (tmp_path / "config.json").write_text(stated.read_text())
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("key", REFUSED_KEYS)
def test_keys_that_change_what_is_computed_are_refused(key, fixtures, tmp_path):
    value = REFUSED_KEYS[key]
    folder = Layout(config={key: value}).write(fixtures, tmp_path / "published")
    with pytest.raises(ValueError, match=f"must have {key}=.*Received: {key}=.*json'"):
        load_checkpoint(folder)


def test_file_of_weights_itself(fixtures):
    folder = fixtures / "hf_shared" / "pretraining"
    with pytest.raises(FileNotFoundError, match="Give the folder .*pretraining'"):
        load_checkpoint(folder / "model.safetensors")
