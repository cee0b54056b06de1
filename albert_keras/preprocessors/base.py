"""Base classes of the preprocessors."""

import pathlib
import sys

import keras
import keras_hub
import numpy as np
from keras import tree

from albert_keras.checks import shown
from albert_keras.presets import preset_files
from albert_keras.presets.hub import SavesByName, local_files
from albert_keras.system.files import read_json
from albert_keras.tokenizers.base import EncoderTokenizer, as_text
from albert_keras.tokenizers.loading import load_tokenizer

# Tokens of a row, as in keras-hub's preprocessors.
DEFAULT_LENGTH = 512
# Keys of a row's length in files of sentence-transformers and transformers.
_LIMITS = {
    "sentence_bert_config.json": "max_seq_length",
    "tokenizer_config.json": "model_max_length",
}


class AlbertPreprocessor(SavesByName, keras_hub.models.Preprocessor):
    """A keras-hub preprocessor that can be loaded from every source of `load_tokenizer`.

    keras-hub finds it by `backbone_cls`, which `albert_keras.models` sets.
    """

    tokenizer_cls = EncoderTokenizer

    def columns(self, x, y=None, *, is_batch=True):
        """Checks rows in memory, and returns them as columns, which can become tensors.

        Args:
            x, y: Arguments of `call`, or lists of rows: dicts or tuples of the parts of
                `x`, and dicts for `y`.
            is_batch: bool. Whether more rows may follow. Default True.

        Raises:
            ValueError: If rows lack a part, or parts or labels do not fit.
        """
        return x, y

    @classmethod
    def from_preset(cls, preset, config_file="preprocessor.json", **kwargs):
        """Loads a preprocessor, or makes a new one with the tokenizer of a preset.

        Args:
            preset: str or path. A folder, a name such as `albert_base_v2`, or an address
                such as `hf://USER/MODEL`; see `load_tokenizer`.
            config_file: str. Name of the preprocessor's file in the folder. A file of
                another class is ignored.
            **kwargs: Arguments of the class that replace saved ones. The rows of a new
                preprocessor have the length `default_length`.
        """
        folder = local_files(preset)
        saved = preset_files.registered_class(folder / config_file)
        if saved is not None and cls in (saved, AlbertPreprocessor):
            preprocessor = preset_files.load_object(folder / config_file, kwargs)
            if "tokenizer" not in kwargs:
                preprocessor.load_preset_assets(str(folder))
            return preprocessor
        if "tokenizer" not in kwargs:
            kwargs["tokenizer"] = load_tokenizer(folder)
        length = default_length(folder, _num_positions(folder))
        return cls(**{"sequence_length": length, **kwargs})


class PythonPreprocessor(AlbertPreprocessor):
    """A preprocessor in Python, for batches of samples in any pipeline.

    It is called like keras-hub's: with lists, arrays or tensors, of a batch or of one
    sample. In `tf.data` it is a NumPy function. Pass tuples as `preprocessor(x=(a, b))`:
    keras-hub takes a single positional argument for `(x, y)`. Subclasses add `prepare`.

    Args:
        tokenizer: A tokenizer of this package.
        sequence_length: int. Tokens of a row, special tokens and padding included.
            Default as in keras-hub.
    """

    # Arguments of the packing, besides the tokenizer.
    arguments = ("sequence_length",)

    def __init__(self, tokenizer, sequence_length=DEFAULT_LENGTH, **kwargs):
        super().__init__(**kwargs)
        self.tokenizer = tokenizer
        self.sequence_length = sequence_length

    def get_config(self):
        return {**super().get_config(), **self.packing_options()}

    def packing_options(self):
        """Returns the arguments of the packing by name, besides the tokenizer."""
        return {name: getattr(self, name) for name in self.arguments}

    def build(self, input_shape=None):
        """Builds nothing. Keras warns of layers without this method."""

    def prepare(self, x, y, sample_weight):
        """Returns features, labels and weights of a batch; labels and weights or `None`.

        The arguments are lists of str and numbers, in the tuples and dicts of the caller.
        """
        raise NotImplementedError

    def call(self, x, y=None, sample_weight=None):
        samples = (x, y, sample_weight)
        # A TensorFlow tensor can exist only if TensorFlow was imported.
        tensorflow = sys.modules.get("tensorflow")
        if tensorflow is not None and not tensorflow.executing_eagerly():
            prepared = self._prepare_in_graph(samples)
        else:
            prepared = self._prepare((*self.columns(x, y), sample_weight))
        return keras.utils.pack_x_y_sample_weight(*prepared)

    def _prepare(self, samples):
        samples = as_lists(samples)
        is_single = not isinstance(_leaves(samples)[0], list)
        if is_single:
            samples = map_columns(lambda column: [column], samples)
        prepared = tuple(p for p in self.prepare(*samples) if p is not None)
        return tree.map_structure(lambda a: a[0], prepared) if is_single else prepared

    def _prepare_in_graph(self, samples):
        import tensorflow as tf

        tensors = [dense(column) for column in _leaves(samples)]

        def unflatten(columns):
            columns = iter(columns)
            return map_columns(lambda _: next(columns), samples)

        def prepare(*columns):
            return tree.flatten(self._prepare(unflatten(columns)))

        # One empty sample, for the types and shapes.
        empty = [_empty(tensor) for tensor in tensors]
        example = self._prepare(unflatten(empty))
        arrays = tree.flatten(example)
        outputs = tf.numpy_function(prepare, tensors, [a.dtype for a in arrays])
        is_batch = tensors[0].shape.rank > 0
        for output, array in zip(outputs, arrays, strict=True):
            # Only the length of rows is known.
            is_row = array.ndim > is_batch
            length = array.shape[-1:] if is_row else ()
            output.set_shape([None] * (array.ndim - is_row) + [*length])
        return tree.pack_sequence_as(example, outputs)


def transposed(rows):
    """Returns a list of dicts or tuples, or a table, as a dict or a tuple of columns.

    A table is a pandas DataFrame, which has column names, or an array `(rows, columns)`.
    A single column of an array is returned without a tuple. Other data, such as columns,
    are returned unchanged.

    >>> transposed([("a", "b"), ("c", "d")])
    (['a', 'c'], ['b', 'd'])
    """
    if getattr(rows, "ndim", 1) == 2:
        if hasattr(rows, "keys"):
            return dict(rows)
        columns = tuple(np.asarray(rows).T)
        return columns if len(columns) > 1 else columns[0]
    first = rows[0] if isinstance(rows, list) and rows else None
    if not isinstance(first, dict | tuple):
        return rows
    keys = first.keys() if isinstance(first, dict) else len(first)
    for number, row in enumerate(rows):
        is_same = type(row) is type(first)
        if not is_same or keys != (row.keys() if isinstance(row, dict) else len(row)):
            raise ValueError(
                f"Rows must have the same parts. Received: {shown(row)} in row {number}, "
                f"and {shown(first)} before."
            )
    if isinstance(first, dict):
        return {name: [row[name] for row in rows] for name in first}
    return tuple(list(column) for column in zip(*rows, strict=True))


def parts_of(x, *names):
    """Returns the columns of `x`, a tuple or a dict by name, as a tuple."""
    if isinstance(x, dict) and x.keys() >= set(names):
        return tuple(x[name] for name in names)
    if not isinstance(x, tuple) or len(x) != len(names):
        raise ValueError(
            f"`x` must be a tuple of {', '.join(names)}, or a dict of them. "
            f"Received: {type(x).__name__} of {len(x)}."
        )
    return x


def default_length(path, num_positions):
    """Returns the row length, in tokens, for the model of a preset or checkpoint.

    A preset of this package uses all positions. Hugging Face's files state a length.
    Otherwise it is at most 512, since a model may have thousands of positions.
    """
    if preset_files.is_own(path / "config.json"):
        return num_positions
    for name, key in _LIMITS.items():
        file = pathlib.Path(path, name)
        stated = read_json(file).get(key) if file.is_file() else None
        # transformers writes 1e30 for no limit.
        if type(stated) is int and 0 < stated < 10**9:
            return min(num_positions, stated)
    return min(num_positions, DEFAULT_LENGTH)


def _num_positions(folder):
    """Returns the number of positions of a checkpoint's model, by default 512."""
    file = pathlib.Path(folder, "config.json")
    stated = read_json(file) if file.is_file() else {}
    if isinstance(stated.get("config"), dict):
        stated = stated["config"]
    names = ("max_sequence_length", "max_position_embeddings")
    return next((stated[name] for name in names if stated.get(name)), DEFAULT_LENGTH)


def map_columns(function, samples):
    """Applies a function to each column in tuples and dicts; a list is a column."""
    if isinstance(samples, tuple):
        return tuple(map_columns(function, part) for part in samples)
    if isinstance(samples, dict):
        return {name: map_columns(function, part) for name, part in samples.items()}
    return None if samples is None else function(samples)


def _leaves(samples):
    leaves = []
    map_columns(leaves.append, samples)
    return leaves


def as_lists(samples):
    """Returns columns, also arrays and tensors, as lists of str and numbers."""
    return map_columns(_as_list, samples)


def _as_list(value):
    if hasattr(value, "to_list"):
        value = value.to_list()
    elif hasattr(value, "__array__"):
        value = np.asarray(value).tolist()
    if isinstance(value, (list, tuple)):
        return [_as_list(item) for item in value]
    return as_text(value)


def dense(column):
    """Returns a dense tensor; ragged rows are padded with "" or 0."""
    import tensorflow as tf

    return column.to_tensor() if isinstance(column, tf.RaggedTensor) else column


def _empty(tensor):
    # An axis of unknown size, such as that of choices, has two parts.
    shape = [size or (2 if axis else 1) for axis, size in enumerate(tensor.shape)]
    dtype = tensor.dtype.as_numpy_dtype
    return np.full(shape, b"-" if dtype is object else 0, dtype)
