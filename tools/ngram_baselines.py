#!/usr/bin/env python3
"""Measures n-gram baselines of masked words, to compare the loss of a run with.

They are counted in the token store that the run was trained on. Prints the scores of a
file that `evaluate RUN --data DATA --json` made, with `unigram_loss` and `trigram_loss`.

example:
  tools/ngram_baselines.py runs/base --data records_held --scores held.json
"""

import json
import pathlib
import sys

import numpy as np
from keras import tree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from albert_keras.pretraining import pretraining_validation_dataset, read_description
from albert_keras.pretraining.documents import split_marks
from albert_keras.pretraining.token_store import read_block
from albert_keras.runs import RunFolder
from albert_keras.system.files import read_json
from albert_keras.system.storage import to_path
from albert_keras.tokenizers import load_tokenizer
from tools.parser import new_parser


def main(argv=None):
    """Prints the scores with the baselines."""
    parser = new_parser(__doc__)
    parser.add_argument("run", help="run of `pretrain`")
    parser.add_argument("--data", required=True, help="held-out data")
    parser.add_argument("--scores", help="file of scores (default: none)")
    arguments = parser.parse_args(argv)
    data = RunFolder(arguments.run).read()["data"], arguments.data
    tokenizer = load_tokenizer(arguments.run)
    scores = read_json(arguments.scores) if arguments.scores else {}
    scores["unigram_loss"] = ngram_loss(*data, tokenizer, 1)
    scores["trigram_loss"] = ngram_loss(*data, tokenizer, 3)
    print(json.dumps(scores))


def ngram_loss(train_source, source, tokenizer, max_order):
    """Returns the cross-entropy of predicting masked tokens by n-grams of the text.

    With `max_order=1` tokens are predicted by their frequency alone. A model that ignores
    the context reaches about this loss, in nats a masked token. Frequencies are those of
    the text; those of masked tokens differ by 0.1 nats if examples are so short that long
    words are seldom masked.

    With 3 it is a trigram model of the two visible tokens before, interpolated with lower
    orders by absolute discounting:

            p(w | u, v) = (max(c(u, v, w) - D, 0) + D * n(u, v) * p(w | v)) / c(u, v)

    where c are counts in the training text, n(u, v) is the number of different tokens
    after u, v, and D = (n1 + 1) / (n1 + 2 * n2 + 2), with n1 and n2 the numbers of
    n-grams counted once and twice, is the leave-one-out estimate, kept between 0 and 1.
    p(w | v) backs off to p(w) in the same way, and p(w) to a uniform distribution over
    all tokens but special ones. Nothing is fitted on the predicted data.

    The context is the corrupted input to the left, as the model sees it. A context is
    shortened to the right of a special token, mostly `[MASK]`, and if it does not occur
    in the training text. N-grams cross sentence ends but not document ends. Of the
    training text only n-grams with a context of the predicted data are in memory.

    Args:
        train_source: str or path of the token store to count tokens in.
        source: Data whose masked tokens are predicted, see
            `pretraining_validation_dataset`.
        tokenizer: Gives `vocabulary_size()` and `special_token_ids`.
        max_order: int. Length of the n-grams.

    Reference: Ney, Essen and Kneser 1994, On structuring probabilistic dependences in
    stochastic language modelling.
    """
    vocabulary_size = tokenizer.vocabulary_size()
    is_special = np.zeros(vocabulary_size, bool)
    is_special[tokenizer.special_token_ids] = True
    targets = _masked_ngrams(source, max_order)
    has_context = [
        ~is_special[targets[max_order - order : -1]].any(axis=0)
        for order in range(1, max_order + 1)
    ]
    asked = [
        _encode(targets[max_order - order :, rows], vocabulary_size)
        for order, rows in enumerate(has_context, 1)
    ]
    contexts = [np.unique(codes // vocabulary_size) for codes in asked]
    kept = [[] for _ in asked]
    for token_ids in _training_texts(train_source, tokenizer):
        for order, (ngrams, known) in enumerate(zip(kept, contexts, strict=True), 1):
            codes = _ngrams_of(token_ids, order, is_special)
            ngrams.append(codes[np.isin(codes // vocabulary_size, known)])
    probabilities = np.full(targets.shape[1], 1 / (~is_special).sum())
    for ngrams, rows, codes in zip(kept, has_context, asked, strict=True):
        known, counts = np.unique(np.concatenate(ngrams), return_counts=True)
        lower = probabilities[rows]
        probabilities[rows] = _interpolate(known, counts, codes, lower, vocabulary_size)
    return float(-np.log(probabilities).mean())


def _masked_ngrams(source, order):
    """Returns masked tokens and the visible ones before, `(order, num_predictions)`."""
    found = []
    for batch in pretraining_validation_dataset(source, 256, sentence_pairs=False):
        features, labels, weights = tree.map_structure(np.array, batch)
        rows, places = np.nonzero(weights["mlm_logits"])
        columns = features["mask_positions"][rows, places]
        # Negative columns wrap around to the row's end, but such contexts hold [CLS].
        before = columns - np.arange(order - 1, 0, -1)[:, None]
        targets = labels["mlm_logits"][rows, places]
        found.append([*features["token_ids"][rows, before], targets])
    return np.concatenate(found, axis=1)


def _training_texts(source, tokenizer):
    """Yields token ids, in which documents are separated by [SEP]."""
    for name, blocks in read_description(source)["shards"].items():
        for block in blocks:
            documents = read_block(to_path(source) / name, block)
            token_ids, _ = split_marks(documents.marked_ids)
            ends = documents.sentence_offsets[documents.document_offsets[1:]]
            yield np.insert(token_ids, ends, tokenizer.sep_token_id)


def _ngrams_of(token_ids, order, is_special):
    """Returns the codes of all n-grams without special tokens."""
    num_ngrams = max(0, len(token_ids) - order + 1)
    ngrams = np.stack([token_ids[i : i + num_ngrams] for i in range(order)])
    return _encode(ngrams[:, ~is_special[ngrams].any(axis=0)], len(is_special))


def _encode(ngrams, vocabulary_size):
    """Returns each column as an integer in base `vocabulary_size`, first token first."""
    return np.ravel_multi_index(tuple(ngrams), (vocabulary_size,) * len(ngrams))


def _interpolate(known, counts, codes, probabilities, vocabulary_size):
    """Returns the probabilities of last tokens, given those of lower order.

    Args:
        known, counts: Sorted codes of the n-grams of the text, and how often they occur.
        codes: Codes of the n-grams that are predicted.
    """
    once, twice = (counts == 1).sum(), (counts == 2).sum()
    discount = (once + 1) / (once + 2 * twice + 2)
    contexts, begins, num_types = np.unique(
        known // vocabulary_size, return_index=True, return_counts=True
    )
    totals = np.add.reduceat(counts, begins)
    places, is_met = _find(contexts, codes // vocabulary_size)
    totals, num_types = totals[places[is_met]], num_types[places[is_met]]
    places, is_counted = _find(known, codes)
    kept = np.zeros(len(codes))
    kept[is_counted] = counts[places[is_counted]] - discount
    interpolated = probabilities.copy()
    interpolated[is_met] *= discount * num_types
    interpolated[is_met] = (interpolated[is_met] + kept[is_met]) / totals
    return interpolated


def _find(ordered, values):
    """Returns the positions of values in a sorted array, and whether they are in it."""
    places = np.searchsorted(ordered, values)
    is_found = places < len(ordered)
    is_found[is_found] = ordered[places[is_found]] == values[is_found]
    return places, is_found


if __name__ == "__main__":
    main()
