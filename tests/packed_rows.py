"""Examples in rows of their own, and the same examples packed: by plain loops."""

import numpy as np

NUM_EXAMPLES = 11
# Rows of several examples, of one, and none that is full.
LAYOUT = [[0, 1, 2], [3], [4, 5, 6], [7, 8], [9, 10]]
ROW_LENGTH, NUM_PREDICTIONS, NUM_PAIRS = 39, 23, 7


def separate_batch():
    """Returns features, labels and weights of 11 examples, of 6 to 12 tokens."""
    random = np.random.default_rng(19)
    shape, predictions = (NUM_EXAMPLES, 13), (NUM_EXAMPLES, 6)
    num_real = np.array([12, 6, 9, 11, 8, 10, 12, 7, 12, 6, 10])
    features = {
        "token_ids": random.integers(0, 61, shape, "int32"),
        "segment_ids": random.integers(0, 2, shape, "int32"),
        "padding_mask": (np.arange(13) < num_real[:, np.newaxis]).astype("int32"),
        "mask_positions": random.integers(0, 6, predictions, "int32"),
    }
    labels = {
        "mlm_logits": random.integers(0, 61, predictions, "int32"),
        "sop_logits": random.integers(0, 2, NUM_EXAMPLES, "int32"),
    }
    weights = {
        "mlm_logits": random.integers(0, 2, predictions).astype("float32"),
        "sop_logits": np.ones(NUM_EXAMPLES, "float32"),
    }
    return features, labels, weights


def packed_batch():
    """Returns the examples of `separate_batch` in 5 rows, without their padding."""
    features, labels, weights = separate_batch()
    tokens, predictions, pairs = (
        (len(LAYOUT), size) for size in (ROW_LENGTH, NUM_PREDICTIONS, NUM_PAIRS)
    )
    # What stands on padding must not matter.
    packed_features = {
        "token_ids": np.full(tokens, 7, "int32"),
        "segment_ids": np.ones(tokens, "int32"),
        "padding_mask": np.zeros(tokens, "int32"),
        "sequence_ids": np.zeros(tokens, "int32"),
        "mask_positions": np.zeros(predictions, "int32"),
        "pair_positions": np.zeros(pairs, "int32"),
    }
    packed_labels = {
        "mlm_logits": np.zeros(predictions, "int32"),
        "sop_logits": np.zeros(pairs, "int32"),
    }
    packed_weights = {
        "mlm_logits": np.zeros(predictions, "float32"),
        "sop_logits": np.zeros(pairs, "float32"),
    }
    for row, examples in enumerate(LAYOUT):
        start = 0
        for index, example in enumerate(examples):
            num_real = features["padding_mask"][example].sum()
            taken = slice(start, start + num_real)
            for name in ("token_ids", "segment_ids", "padding_mask"):
                packed_features[name][row, taken] = features[name][example, :num_real]
            packed_features["sequence_ids"][row, taken] = index + 1
            packed_features["pair_positions"][row, index] = start
            slots = slice(6 * index, 6 * index + 6)
            positions = features["mask_positions"][example]
            packed_features["mask_positions"][row, slots] = positions + start
            for packed, separate in (
                (packed_labels, labels),
                (packed_weights, weights),
            ):
                packed["mlm_logits"][row, slots] = separate["mlm_logits"][example]
                packed["sop_logits"][row, index] = separate["sop_logits"][example]
            start += num_real
    return packed_features, packed_labels, packed_weights


def weighted(outputs, weights):
    """Returns the outputs that have a weight, example by example."""
    return {name: np.array(outputs[name])[weights[name] > 0] for name in outputs}
