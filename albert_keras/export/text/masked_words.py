"""Masked words: from text with `[MASK]` to the best tokens for each mask."""

import tensorflow as tf

from albert_keras.checks import shown
from albert_keras.export.signatures import SERVING_SIGNATURE, serve_features
from albert_keras.export.text.graph import run_on_any_batch, text_input
from albert_keras.tasks.masked_words import Filling, MaskedWordsTask
from albert_keras.tokenizers.packing import pack_tensors, room_in, trim_tensors


class MaskedWords:
    """Fills masks like `fill_mask`.

    Inputs: `text` `(batch,)`, strings.

    Outputs: `tokens`, strings, and float32 `probabilities`, both `(batch, most masks,
    top_k)`, for the masks in their order, most probable first. Texts with fewer masks are
    padded with `""` and 0. So is a text without a `[MASK]`, or with more tokens than the
    model has positions: an error in the graph would also fail other requests of the batch
    on a server. `predictions` raises the error.
    """

    task = MaskedWordsTask
    # The signature of `predictions`, and its inputs.
    signature, inputs = SERVING_SIGNATURE, ("text",)
    # Fields of the task that `predictions` needs, and their form in JSON.
    stored = {"top_k": int}  # noqa: RUF012
    # Fields of the task that make the ids of a model of ids.
    ids = {"longest": int}  # noqa: RUF012

    def signatures(self, spec, task):
        """Returns the concrete functions by name."""
        tokenizer, longest = task.tokenizer, task.longest
        room, run = room_in(longest, 1), serve_features(spec)
        tokens = tokenizer.encoder.decode_batch(
            [[index] for index in range(tokenizer.vocabulary_size())]
        )

        @tf.function(autograph=False)
        def serve(text):
            ids = tokenizer.tokenize_with_masks(text)
            fits = ids.row_lengths() <= room
            features = trim_tensors(pack_tensors([ids], tokenizer, longest))
            # (batch, length), and the ragged positions of masks (batch, None)
            is_mask = tf.equal(features["token_ids"], tokenizer.mask_token_id)
            is_mask &= fits[:, tf.newaxis]
            places = tf.range(tf.shape(is_mask)[1])
            places *= tf.ones_like(features["token_ids"])
            places = tf.ragged.boolean_mask(places, is_mask)
            # Heads need at least one position.
            positions = places.to_tensor()
            none = tf.cast(tf.equal(tf.shape(positions)[1], 0), tf.int32)
            positions = tf.pad(positions, [[0, 0], [0, none]])
            features["mask_positions"] = positions
            outputs = run_on_any_batch(run, features)
            logits = outputs.get("mlm_logits", outputs.get("logits"))
            # The embedding table may have more rows than there are tokens.
            probabilities = tf.nn.softmax(logits[..., : len(tokens)])
            best = tf.math.top_k(probabilities, min(task.top_k, len(tokens)))
            # (batch, most masks, 1)
            is_real = tf.sequence_mask(places.row_lengths(), tf.shape(positions)[1])
            is_real = is_real[..., tf.newaxis]
            names = tf.gather(tf.constant(tokens), best.indices)
            return {
                "tokens": tf.where(is_real, names, ""),
                "probabilities": tf.where(is_real, best.values, 0.0),
            }

        return {SERVING_SIGNATURE: serve.get_concrete_function(text_input("text"))}

    def columns(self, rows):
        """Returns the inputs of rows of the task, a list of columns."""
        return [rows]

    def predictions(self, task, rows, outputs):
        """Returns what `fill_mask` returns; raises a ValueError where it does."""
        filled = []
        for text, tokens, probabilities in zip(
            rows, outputs["tokens"], outputs["probabilities"], strict=True
        ):
            # The first token is the most probable one; all are 0 for padding.
            if not (probabilities[:, 0] > 0).any():
                raise ValueError(
                    "A text must have a [MASK], and no more tokens than the model has "
                    f"positions. Received: {shown(text)}."
                )
            filled.append(
                [
                    [*map(Filling, names.tolist(), shares.tolist())]
                    for names, shares in zip(tokens, probabilities, strict=True)
                    if shares[0] > 0
                ]
            )
        return filled
