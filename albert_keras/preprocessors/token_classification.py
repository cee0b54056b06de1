"""Preprocessing of sentences of words for token classifiers."""

import keras
import numpy as np

from albert_keras.preprocessors.base import PythonPreprocessor, as_lists
from albert_keras.preprocessors.tagged_words import align_tags, words_of


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertTokenClassifierPreprocessor(PythonPreprocessor):
    """Tokenizes sentences word by word and gives each word's tag to its first token.

    Truncates long sentences to the words that fit. `tag_words` tags all words.

    Args:
        tokenizer: A tokenizer of this package.
        sequence_length: int. Tokens of a row, special tokens and padding included.

    Input shape:
        `x`: sentences `(batch,)`, lists of words or str. A str is split into words and
        punctuation, Chinese and Japanese text into characters. `y`: classes of the words,
        lists of int of the same lengths. In tensors, sentences are padded with `""` and
        classes with 0.

    Output shape:
        Dict of int32 arrays `(batch, sequence_length)`; the classes of tokens, int32 of
        the same shape; and their weights, 1 on the first token of each word, else 0.

    Example:

    ```python
    tagger = ak.AlbertTokenClassifier.from_preset("albert_base_v2", num_classes=3)
    tagger.fit([["Ann", "lives", "in", "Rome"]], [[1, 0, 0, 2]])
    ```

    Reference: Devlin et al. 2019, section 5.3.
    """

    def columns(self, x, y=None, *, is_batch=True):
        """Returns sentences and tags, after a check that each word has a tag."""
        sentences, tags = as_lists((x, y))
        if tags is not None and isinstance(sentences, list):
            _check_tags(sentences, tags)
        return x, y

    def prepare(self, x, y, sample_weight):
        sentences = [_words(sentence) for sentence in x]
        if y is not None:
            # Tensors are padded.
            y = [tags[: len(words)] for words, tags in zip(sentences, y, strict=True)]
        options = self.packing_options()
        examples = align_tags(self.tokenizer.encoder, sentences, y, **options)
        # The first sequence of each sentence.
        starts = np.cumsum([0, *map(len, sentences[:-1])])
        rows = np.searchsorted(examples.example_arrays["first_words"], starts)
        batch = examples.padded(rows, self.sequence_length)
        labels, weights = batch["labels"], batch["label_weights"].astype(np.float32)
        names = ("token_ids", "segment_ids", "padding_mask")
        batch = {name: batch[name] for name in names}
        if y is None:
            return batch, None, None
        if sample_weight is not None:
            weights *= np.reshape(np.array(sample_weight, np.float32), (len(rows), -1))
        return batch, labels, weights


def _check_tags(sentences, tags):
    for number, (sentence, row) in enumerate(zip(sentences, tags, strict=False)):
        num_words = len(_words(sentence))
        num_tags = len(row) if isinstance(row, list) else 1
        # Arrays of sentences and of tags have the same padding.
        is_padded = isinstance(sentence, list) and num_tags == len(sentence)
        if num_tags != num_words and not is_padded:
            raise ValueError(
                f"Each word must have a tag. Received: {num_words} words and {num_tags} "
                f"tags in row {number}."
            )


def _words(sentence):
    words = words_of(sentence)
    while words and words[-1] == "":
        words.pop()
    if not words:
        raise ValueError(f"A sentence must have a word. Received: {sentence!r}.")
    return words
