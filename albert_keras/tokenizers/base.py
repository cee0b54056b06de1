"""Base class of the tokenizers: a Keras layer around a plain Python encoder."""

import hashlib
import json
import pkgutil
import sys

import keras
import keras_hub
import numpy as np

from albert_keras.checks import check_text
from albert_keras.presets.hub import SavesByName
from albert_keras.tokenizers.encoder import join_rows
from albert_keras.tokenizers.packing import pad_rows
from albert_keras.tokenizers.ragged import offsets_of

# The function that reads a tokenizer; its module imports the subclasses.
_READER = "albert_keras.tokenizers.loading:read_tokenizer"


class EncoderTokenizer(SavesByName, keras_hub.tokenizers.Tokenizer):
    """A keras-hub tokenizer that delegates to an `Encoder` or to TensorFlow operations.

    Python strings are encoded in Python, on any Keras backend and without TensorFlow.
    TensorFlow string tensors, as in `tf.data` and SavedModels, are encoded in the graph.
    Both drop bytes that are not UTF-8, as Google's code does. A str with a lone surrogate
    is an error. Subclasses set the encoder and `_options`, and add `vocabulary_argument`,
    `_tokenize_vector`, `_build_graph_tokenizer`, and two functions of a string tensor
    `(n,)` that do in the graph what `Encoder` does in Python:

    - `tokenize_with_masks` returns ragged ids; `[MASK]` is the mask token.
    - `tokenize_with_spans` returns ragged ids, and ragged int64 starts and ends of the
      tokens in the characters of their texts before normalization.

    Args:
        sequence_length: int, or `None`. Length to which a call of the layer truncates and
            pads rows, as in keras-hub.
        add_bos, add_eos: bool. Whether these rows begin with `[CLS]` and end with
            `[SEP]`.
    """

    def __init__(self, sequence_length=None, add_bos=False, add_eos=False, **kwargs):
        super().__init__(**{"dtype": "int32", **kwargs})
        if "int" not in self.compute_dtype:
            raise ValueError(
                "The dtype of a tokenizer must be an integer type. Received: "
                f"dtype={self.compute_dtype!r}. `id_to_token` returns tokens as str."
            )
        self.sequence_length = sequence_length
        self.add_bos, self.add_eos = add_bos, add_eos
        self._set_encoder(None)

    def _set_encoder(self, encoder):
        self._encoder = encoder
        self._graph_tokenizer = None
        for name in ("pad", "unk", "cls", "sep", "mask"):
            token_id = getattr(encoder, f"{name}_token_id", None)
            setattr(self, f"{name}_token_id", token_id)
            token = None if encoder is None else encoder.id_to_token(token_id)
            setattr(self, f"{name}_token", token)
        # keras-hub's packers use these names.
        self.start_token, self.end_token = self.cls_token, self.sep_token
        self.start_token_id, self.end_token_id = self.cls_token_id, self.sep_token_id

    @property
    def encoder(self):
        """The `Encoder` in plain Python. It can be pickled, and needs no TensorFlow."""
        if self._encoder is None:
            raise ValueError(
                f"`{type(self).__name__}` must have a vocabulary. Received: None. "
                "Pass one to the constructor or load a preset."
            )
        return self._encoder

    def call(self, inputs):
        return self.tokenize(inputs)

    def tokenize(self, inputs):
        """Encodes strings as token ids.

        A str gives a list of int, and a list or NumPy array of str a list of lists. A
        scalar TensorFlow string tensor gives an int32 tensor, another one a ragged tensor
        with one more dimension. With a `sequence_length`, int32 arrays take the place of
        lists, and dense tensors that of ragged ones.
        """
        # A TensorFlow tensor can exist only if TensorFlow was imported.
        tensorflow = sys.modules.get("tensorflow")
        if tensorflow is not None and tensorflow.is_tensor(inputs):
            return self._tokenize_tensor(inputs)
        if isinstance(inputs, np.ndarray):
            inputs = inputs.tolist()
        if isinstance(inputs, (str, bytes)):
            return self.tokenize([inputs])[0]
        texts = inputs if np.iterable(inputs) else [inputs]
        rows = self.encode_batch([*map(as_text, texts)])
        first, last = self._bounds()
        if first or last:
            rows = [first + row + last for row in rows]
        length = self.sequence_length
        if length is None:
            return rows
        token_ids, lengths = join_rows([row[:length] for row in rows])
        return pad_rows(offsets_of(lengths), token_ids, length, self.pad_token_id)

    def _bounds(self):
        """Returns the ids to add before and after each text, as lists."""
        return [self.cls_token_id] * self.add_bos, [self.sep_token_id] * self.add_eos

    def _tokenize_tensor(self, strings):
        import tensorflow as tf

        rank = strings.shape.rank
        if rank == 0:
            return self._tokenize_rows(strings[tf.newaxis])[0]
        if rank > 1 and not isinstance(strings, tf.RaggedTensor):
            strings = tf.RaggedTensor.from_tensor(strings, ragged_rank=rank - 1)
        if rank > 1:
            return strings.with_flat_values(self._tokenize_rows(strings.flat_values))
        return self._tokenize_rows(strings)

    def _tokenize_rows(self, strings):
        """Encodes a string tensor `(n,)` as a ragged or dense tensor `(n, None)`."""
        import tensorflow as tf

        strings = tf.strings.unicode_transcode(strings, "UTF-8", "UTF-8", "ignore")
        rows = self._tokenize_vector(strings)
        first, last = (
            tf.tile(tf.constant([ids], tf.int32), [rows.nrows(), 1])
            for ids in self._bounds()
        )
        if self.add_bos or self.add_eos:
            rows = tf.concat([first, rows, last], axis=1)
        if self.sequence_length is None:
            return rows
        shape = (None, self.sequence_length)
        return rows.to_tensor(self.pad_token_id, shape=shape)

    def _get_graph_tokenizer(self):
        if self._graph_tokenizer is None:
            import tensorflow as tf

            # Outside of the traced function, whose tensors other functions cannot use.
            with tf.init_scope():
                self._graph_tokenizer = self._build_graph_tokenizer()
        return self._graph_tokenizer

    def detokenize(self, inputs):
        """Decodes a row of ids as a str, or several rows as a list of str.

        Rows are lists, NumPy arrays or eager tensors. Normalization is not undone. An
        `AlbertTokenizer` omits special tokens; with `mask_in_text` it keeps `[MASK]`.
        """
        rows = inputs.to_list() if hasattr(inputs, "to_list") else inputs
        if not isinstance(rows, (list, tuple)):
            rows = np.atleast_1d(keras.ops.convert_to_numpy(rows)).tolist()
        if rows and np.ndim(rows[0]):
            return self.encoder.decode_batch([list(row) for row in rows])
        return self.encoder.decode_batch([rows])[0]

    def encode_batch(self, texts):
        """Encodes a list of str as lists of ids in Python; see `Encoder`."""
        return self.encoder.encode_batch(texts)

    def tokenize_with_offsets(self, text):
        """Encodes one str and locates each token in it.

        Returns:
            Tuple of the ids, a list of int, and the `(start, end)` of each token, in
            characters of `text` before normalization.
        """
        check_text(text)
        return self.encoder.tokenize_with_offsets(text)

    @property
    def word_starts(self):
        """Bool array `(vocabulary_size,)`: true where a token begins a word."""
        return self.encoder.word_starts

    @property
    def special_tokens(self):
        """The padding, unknown, classification, separator and mask tokens."""
        return self.encoder.special_tokens

    @property
    def special_token_ids(self):
        """The ids of `special_tokens`."""
        return self.encoder.special_token_ids

    def get_vocabulary(self):
        """Returns the token of each id, as a list."""
        return self.encoder.get_vocabulary()

    def vocabulary_size(self):
        """Returns the number of token ids."""
        return self.encoder.vocabulary_size()

    def id_to_token(self, id):
        """Returns the token of an id."""
        return self.encoder.id_to_token(id)

    def token_to_id(self, token):
        """Returns the id of a token, or of the unknown token if there is none."""
        return self.encoder.token_to_id(token)

    def fingerprint(self):
        """Returns 16 hexadecimal digits that depend on vocabulary and options alone.

        Data sets and models store them, so that another tokenizer can be refused.
        """
        # As in the config, so that fingerprints in older files stay valid.
        options = {self.vocabulary_argument: None, **self._options}
        content = json.dumps([self.get_vocabulary(), options], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def get_config(self):
        return {
            **super().get_config(),
            "sequence_length": self.sequence_length,
            "add_bos": self.add_bos,
            "add_eos": self.add_eos,
            # The vocabulary itself is saved as an asset.
            self.vocabulary_argument: None,
            **self._options,
        }

    def compute_output_spec(self, inputs):
        shape = (*inputs.shape, self.sequence_length)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    @classmethod
    def from_preset(cls, preset, config_file="tokenizer.json", **kwargs):
        """Loads a tokenizer from the preset of a model or of a tokenizer alone.

        keras-hub finds a tokenizer by its backbone's class. Here one tokenizer serves
        several models, so the class is read from the tokenizer's file.

        Args:
            preset: str or path. A folder, a name or an address, also of files of Hugging
                Face or keras-hub.
            config_file: str. Name of the tokenizer's file in the folder.
            **kwargs: Arguments that replace saved ones. For files of other libraries only
                the arguments of `load_tokenizer`.
        """
        return pkgutil.resolve_name(_READER)(cls, preset, config_file, kwargs)


def as_text(value):
    """Decodes bytes, dropping those that are not UTF-8; returns other values unchanged.

    Reference: google-research/albert tokenization.py `convert_to_unicode`.
    """
    return value.decode("utf-8", "ignore") if isinstance(value, bytes) else value
