"""Steps of the graph that the kinds of text signatures share."""

import tensorflow as tf

from albert_keras.export import signatures
from albert_keras.export.text.embeddings import with_mean_output
from albert_keras.models import AlbertTextEmbedder
from albert_keras.tokenizers.packing import trim_tensors


def text_input(name, rank=1):
    """Returns the spec of an input of strings, `(batch,)` or `(batch, None)`."""
    return tf.TensorSpec((None,) * rank, tf.string, name)


def require(condition, rule, received):
    """Fails with an InvalidArgumentError that states a rule, unless a condition holds.

    Args:
        condition: Bool tensor.
        rule: str.
        received: Tensor, of which the error shows the first values.
    """
    tf.debugging.Assert(condition, [f"{rule} Received:", received], summarize=3)


def as_features(packed):
    """Returns int32 inputs of a model, a dict of `(batch, length)`."""
    return {name: tf.cast(values, tf.int32) for name, values in packed.items()}


def run_on_any_batch(run, features):
    """Returns the outputs of a model for a batch that may have no rows.

    Some operations of heads fail without rows, so that one is added, and cut off again.
    """
    num_rows = tf.shape(features["token_ids"])[0]
    num_added = tf.cast(tf.equal(num_rows, 0), tf.int32)

    def add_row(values):
        return tf.pad(values, [[0, num_added], *[[0, 0]] * (values.shape.rank - 1)])

    outputs = run(**{name: add_row(values) for name, values in features.items()})
    return {name: values[:num_rows] for name, values in outputs.items()}


# Rows of a part: memory does not grow with the length of texts.
PART_ROWS = 32


def run_in_parts(run, features):
    """Returns the outputs of a model for any number of rows, computed part by part.

    `run` returns a dict of tensors whose axes but the first have the same sizes in each
    part.
    """
    num_rows = tf.shape(features["token_ids"])[0]

    # Traced once, though it is called twice.
    @tf.function(autograph=False)
    def run_part(begin):
        part = {n: values[begin : begin + PART_ROWS] for n, values in features.items()}
        return run_on_any_batch(run, part)

    outputs = run_part(tf.constant(0))
    shapes = {
        name: tf.TensorShape([None, *value.shape[1:]])
        for name, value in outputs.items()
    }

    def add_part(begin, found):
        part = run_part(begin)
        joined = {name: tf.concat([found[name], part[name]], axis=0) for name in found}
        return begin + PART_ROWS, joined

    _, outputs = tf.while_loop(
        lambda begin, _: begin < num_rows,
        add_part,
        (tf.constant(PART_ROWS), outputs),
        shape_invariants=(tf.TensorShape([]), shapes),
    )
    return outputs


def text_signatures(model, pack, takes_pairs, options, by_rows=lambda run: run):
    """Returns concrete functions from text to a model's outputs, by signature.

    Args:
        model: Model of rows of ids; a backbone gives `mean_output` too.
        pack: Function from a list of strings `(batch,)`, texts and maybe second texts,
            to the features of rows.
        takes_pairs: bool. Whether all signatures have second texts. A model of segments
            but an embedder has a signature of pairs in any case.
        options: Dict of arguments of `serve_features`, by signature.
        by_rows: Function from one of features to one that may compute rows apart.
    """
    wrap = by_rows if hasattr(model, "backbone") else with_mean_output
    # Traced once for texts and pairs: the graph of a deep model is large.
    runs = {
        name: wrap(signatures.serve_features(model, **given))
        for name, given in options.items()
    }

    def trace(name, texts):
        @tf.function(autograph=False)
        def serve(**inputs):
            segments = [inputs[text] for text in texts]
            return runs[name](**as_features(trim_tensors(pack(segments))))

        specs = {text: text_input(text) for text in texts}
        return serve.get_concrete_function(**specs)

    own = signatures.TEXT_INPUTS if takes_pairs else signatures.TEXT_INPUTS[:1]
    functions = {name: trace(name, own) for name in options}
    reads_pairs = not isinstance(model, AlbertTextEmbedder)
    if reads_pairs and signatures.backbone_config(model).num_segments > 1:
        functions[signatures.PAIR_SIGNATURE] = trace(
            signatures.SERVING_SIGNATURE, signatures.TEXT_INPUTS
        )
    return functions
