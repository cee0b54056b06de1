"""Packing of tagged sentences, and alignment of predictions with words."""

import bisect
import itertools

import numpy as np

from albert_keras.checks import shown
from albert_keras.text.examples import Examples
from albert_keras.tokenizers.packing import pack_segments, room_in, whole_texts
from albert_keras.tokenizers.ragged import offsets_of, ragged_positions
from albert_keras.tokenizers.words import locate_words


def words_of(sentence):
    """Returns the words of a sentence, a list of words or a str; see `locate_words`.

    >>> words_of("Ann 住在NY.")
    ['Ann', '住', '在', 'N', 'Y', '.']
    """
    words = sentence
    if isinstance(sentence, str):
        words = [sentence[start:end] for start, end in locate_words(sentence)]
    is_list = isinstance(words, list | tuple)
    if not is_list or not all(isinstance(word, str) for word in words):
        raise ValueError(
            f"A sentence must be a str or a list of words. Received: {shown(sentence)}."
        )
    return list(words)


def align_tags(encoder, words, tag_ids=None, *, sequence_length):
    """Tokenizes sentences word by word and gives each token its word's tag.

    A long sentence becomes several sequences of as many whole words as fit. A word that
    is longer than a sequence is truncated.

    Args:
        encoder: The `encoder` of a tokenizer of this package.
        words: list of lists of str.
        tag_ids: list of lists of int, one per word, or None. Default None.
        sequence_length: int. Maximum length of a sequence, special tokens included.

    Returns:
        `Examples` with int32 arrays `(num_tokens,)`: `token_ids`, `segment_ids`,
        `labels` (tag ids; 0 on special tokens and without `tag_ids`), `label_weights` (1
        on the first token of a word, else 0) and `word_of` (number of the word, over all
        sentences; -1 on special tokens); and int32 `(num_sequences,)`: `first_words`, the
        number of the first word.

    Reference: Devlin et al. 2019, section 5.3: the first token represents its word.
    """
    room = room_in(sequence_length, 1)
    if tag_ids is not None:
        check_same_lengths(words, tag_ids, "Each word must have a tag")
    # (num_words,) for all words; `ends` counts the tokens before each word.
    encoded = whole_texts(*encoder.encode_ragged([*itertools.chain(*words)]))
    lengths = np.minimum(encoded.lengths, room)
    ends = offsets_of(lengths)
    tags = [*itertools.chain(*tag_ids)] if tag_ids is not None else 0 * lengths

    # (ends[-1],) for all tokens but special ones.
    token_ids = encoded.token_ids[ragged_positions(encoded.starts, lengths)]
    is_first = np.zeros(len(token_ids), np.int32)
    is_first[ends[:-1][lengths > 0]] = 1
    columns = {
        "labels": np.repeat(tags, lengths),
        "label_weights": is_first,
        "word_of": np.repeat(np.arange(len(lengths)), lengths),
    }

    sentences = offsets_of([len(sentence) for sentence in words])
    first_words = _first_words(sentences.tolist(), ends.tolist(), room)
    sequences = whole_texts(token_ids, ends[[*first_words, len(lengths)]])
    special = encoder.cls_token_id, encoder.sep_token_id
    offsets, arrays = pack_segments([sequences], *special)
    targets = ragged_positions(offsets[:-1] + 1, sequences.lengths)
    for name, values in columns.items():
        arrays[name] = np.full(offsets[-1], -1 if name == "word_of" else 0, np.int32)
        arrays[name][targets] = values
    return Examples(offsets, arrays, {"first_words": np.array(first_words, np.int32)})


def gather_words(examples, token_values, words, default):
    """Returns the values of words, a list for each sentence; reverses `align_tags`.

    Args:
        examples: The `Examples` that `align_tags` returned for `words`.
        token_values: `(num_tokens,)`. Tag id or probability of each token of `examples`.
        words: list of lists of str.
        default: Value of words without tokens, such as control characters.
    """
    sentences = offsets_of([len(sentence) for sentence in words])
    is_first = examples.token_arrays["label_weights"] == 1
    # (num_words,)
    values = np.full(sentences[-1], default, token_values.dtype)
    values[examples.token_arrays["word_of"][is_first]] = token_values[is_first]
    return [values[a:b].tolist() for a, b in itertools.pairwise(sentences)]


def check_same_lengths(first, second, rule):
    """Checks that two lists of sentences have the same numbers of words."""
    sizes = map(len, first), map(len, second)
    for index, pair in enumerate(itertools.zip_longest(*sizes, fillvalue=0)):
        if pair[0] != pair[1]:
            raise ValueError(
                f"{rule}. Received: {len(first)} and {len(second)} sentences; sentence "
                f"{index} has {pair[0]} and {pair[1]} words."
            )


def _first_words(sentences, ends, room):
    """Returns the number of the first word of each sequence, over all sentences.

    `sentences` are the numbers of the first word of each sentence, and of all words;
    `ends` are the tokens before each word, and of all. No word has more than `room`.
    """
    first_words = []
    for word, end in itertools.pairwise(sentences):
        while word < end:
            first_words.append(word)
            # The first word that does not fit.
            word = min(end, bisect.bisect_right(ends, ends[word] + room) - 1)
    return first_words
