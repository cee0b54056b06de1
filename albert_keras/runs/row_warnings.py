"""What a user should know of the rows before a fine-tuning run trains on them."""

import numpy as np

from albert_keras.runs.reporting import note, warn

# Above this share of held-out texts in the training rows, scores mislead.
_MAX_OVERLAP = 0.1
# Below this share of known pieces the tokenizer is probably of another language.
_MIN_KNOWN_PIECES = 0.8


def report_overlap(task, train, held_out):
    """Prints how many held-out texts are among the training rows too; returns them."""
    known = set(task.text_keys(train))
    keys = task.text_keys(held_out)
    found = [key for key in keys if key in known]
    report = warn if len(found) > _MAX_OVERLAP * len(keys) else note
    report(f"of {len(keys)} held-out texts {len(found)} are in the training rows too")
    return found


def warn_of_unknown_pieces(tokenizer, examples):
    """Warns if the vocabulary lacks many pieces of `Examples`."""
    encoder = tokenizer.encoder
    others = set(encoder.special_token_ids) - {encoder.unk_token_id}
    token_ids = examples.token_arrays["token_ids"]
    pieces = token_ids[~np.isin(token_ids, list(others))]
    if len(pieces) == 0:
        return
    known = np.mean(pieces != encoder.unk_token_id)
    if known < _MIN_KNOWN_PIECES:
        warn(
            f"the vocabulary knows {known:.0%} of the pieces of the training texts. Is "
            "it of another language?"
        )
