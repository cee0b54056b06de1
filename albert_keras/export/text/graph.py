"""Parts of the graph that text signatures share."""

import tensorflow as tf

from albert_keras.export import signatures
from albert_keras.tokenizers.packing import pack_tensors, trim_tensors

# Kinds of models whose inputs are packed texts or pairs, without a task.
PLAIN_KINDS = ("classes", "several_classes", "regression", "embedding", "backbone")

# Rows of a part: memory does not grow with the length of texts.
PART_ROWS = 32
# Tokens of a group. Matrix products of fewer tokens are slower.
TOKENS_OF_A_GROUP = 512


def text_input(name, rank=1):
    """Returns the spec of an input of strings, `(batch,)` or `(batch, None)`."""
    return tf.TensorSpec((None,) * rank, tf.string, name)


def require(condition, rule, received):
    """Raises an InvalidArgumentError with a rule unless a condition holds.

    Args:
        condition: Bool tensor.
        rule: str.
        received: Tensor. The error shows its first values.
    """
    tf.debugging.Assert(condition, [f"{rule} Received:", received], summarize=3)


def run_on_any_batch(run, features):
    """Returns the outputs of a model for a batch that may have no rows.

    Some operations of heads fail without rows. An empty batch gets a row, which is cut
    off again.
    """
    num_rows = tf.shape(features["token_ids"])[0]
    num_added = tf.cast(tf.equal(num_rows, 0), tf.int32)

    def add_row(values):
        return tf.pad(values, [[0, num_added], *[[0, 0]] * (values.shape.rank - 1)])

    outputs = run(**{name: add_row(values) for name, values in features.items()})
    return {name: values[:num_rows] for name, values in outputs.items()}


def run_in_parts(run, features, part_at=None):
    """Returns the outputs of a model for any number of rows, computed part by part.

    Args:
        run: Function from the model's inputs to a dict of tensors. All their axes but the
            first must have the same size in each part.
        features: Dict of the model's inputs, tensors `(num_rows, ...)`.
        part_at: Function from the number of a first row to the number of the row after
            the part, and the part's features. Default: parts of `PART_ROWS` rows.
    """
    num_rows = tf.shape(features["token_ids"])[0]

    def fixed_part_at(begin):
        end = begin + PART_ROWS
        return end, {name: values[begin:end] for name, values in features.items()}

    # A function, so that two calls are traced once.
    @tf.function(autograph=False)
    def run_part(begin):
        end, part = (part_at or fixed_part_at)(begin)
        return end, run_on_any_batch(run, part)

    def add_part(begin, found):
        end, part = run_part(begin)
        joined = {name: tf.concat([found[name], part[name]], axis=0) for name in found}
        return end, joined

    end, outputs = run_part(tf.constant(0))
    shapes = {
        name: tf.TensorShape([None, *value.shape[1:]])
        for name, value in outputs.items()
    }
    _, outputs = tf.while_loop(
        lambda begin, _: begin < num_rows,
        add_part,
        (end, outputs),
        shape_invariants=(tf.TensorShape([]), shapes),
        parallel_iterations=1,
    )
    return outputs


def in_groups(run):
    """Returns a function of a model's inputs that runs it on groups of similar length.

    The rows are sorted by length, and each group is as long as its longest row, so that
    there is little padding. The outputs are in the order of the rows. A batch may have no
    rows.

    Args:
        run: Function from the model's inputs, tensors `(batch, length)`, to a dict of
            outputs `(batch, ...)`. An output must not depend on other rows, nor have the
            length as an axis.
    """

    def run_groups(**inputs):
        lengths = tf.reduce_sum(inputs["padding_mask"], axis=1)
        order = tf.argsort(lengths, direction="DESCENDING", stable=True)
        lengths = tf.gather(lengths, order)
        rows = {name: tf.gather(x, order) for name, x in inputs.items()}

        def group_at(begin):
            longest = tf.maximum(1, tf.reduce_max(lengths[begin:]))
            end = begin + tf.maximum(1, TOKENS_OF_A_GROUP // longest)
            return end, {name: x[begin:end, :longest] for name, x in rows.items()}

        outputs = run_in_parts(run, rows, group_at)
        places = tf.argsort(order)
        return {name: tf.gather(x, places) for name, x in outputs.items()}

    return run_groups


def text_signatures(
    spec, tokenizer, encode, sequence_length, calls, by_rows=lambda run: run, **options
):
    """Returns concrete functions from text to a model's outputs, by signature.

    All take pairs if the model's preprocessor does. Otherwise a model with segments,
    except an embedder, has one more signature for pairs.

    Args:
        spec: `ExportSpec`. A backbone returns `mean_output` too, the mean of
            `sequence_output` over the tokens of each text, special tokens included.
        tokenizer: A tokenizer of this package.
        encode: Function from strings `(batch,)` to int32 ragged ids `(batch, None)`.
        sequence_length: int or `None`. See `choose_sequence_length`.
        calls: Functions by signature; see `exit_calls`.
        by_rows: Function that wraps a function of features, such as `in_groups`. It is
            not used for a backbone, whose outputs have the length as an axis.
        **options: Arguments of `serve_features`.
    """
    if spec.kind not in PLAIN_KINDS:
        raise ValueError(
            "Only classifiers, regressions, embedders and backbones take text in this "
            f"format; other heads take ids. Received: {type(spec.model).__name__} with "
            f"tokenizer={tokenizer!r}. Leave it out, or pass `--inputs ids`."
        )
    longest = signatures.choose_sequence_length(spec, sequence_length)
    # Texts and pairs share the traced functions: the graph of a deep model is large.
    traced = signatures.id_signatures(spec, calls, **options)
    if spec.kind != "backbone":
        traced = {name: by_rows(function) for name, function in traced.items()}

    def trace(name, texts):
        @tf.function(autograph=False)
        def serve(**inputs):
            segments = [encode(inputs[text]) for text in texts]
            packed = trim_tensors(pack_tensors(segments, tokenizer, longest))
            outputs = traced[name](**packed)
            if spec.kind == "backbone":
                # (batch, length, 1); each row has at least [CLS].
                mask = tf.cast(packed["padding_mask"], tf.float32)[..., tf.newaxis]
                total = tf.reduce_sum(outputs["sequence_output"] * mask, axis=1)
                outputs["mean_output"] = total / tf.reduce_sum(mask, axis=1)
            return outputs

        specs = {text: text_input(text) for text in texts}
        return serve.get_concrete_function(**specs)

    takes_pairs = getattr(spec.preprocessor, "takes_pairs", False)
    own = signatures.TEXT_INPUTS if takes_pairs else signatures.TEXT_INPUTS[:1]
    functions = {name: trace(name, own) for name in calls}
    if spec.kind != "embedding" and spec.backbone.num_segments > 1:
        functions[signatures.PAIR_SIGNATURE] = trace(
            signatures.SERVING_SIGNATURE, signatures.TEXT_INPUTS
        )
    return functions
