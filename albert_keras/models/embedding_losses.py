"""Losses of text embeddings, each computed over a whole batch."""

import keras
from keras import ops

from albert_keras.train_step import WholeBatchLoss

# Factor of cosines, as in sentence-transformers.
SCALE = 20.0
_LEAST = -1e9


class EmbeddingLoss(WholeBatchLoss):
    """Base class of losses on L2-normalized vectors.

    Subclasses have a method `of_vectors(y_true, vectors)`, which returns the loss for
    normalized vectors.

    Args:
        least_dimensions: int or `None`. The loss is the mean of the losses on this number
            of leading dimensions, on twice as many, and so on up to all (Kusupati et al.
            2022, Matryoshka representation learning). Default: only all dimensions.
    """

    def __init__(self, least_dimensions=None, **kwargs):
        super().__init__(**kwargs)
        self.least_dimensions = least_dimensions

    def call(self, y_true, y_pred):
        """Returns the loss, a scalar, for vectors `(batch, num_texts, embedding_dim)`."""
        sizes = [y_pred.shape[-1]]
        size = self.least_dimensions or sizes[0]
        while size < sizes[0]:
            sizes.append(size)
            size *= 2
        cut = (ops.normalize(y_pred[..., :size], axis=-1) for size in sizes)
        return sum(self.of_vectors(y_true, vectors) for vectors in cut) / len(sizes)

    def get_config(self):
        return {**super().get_config(), "least_dimensions": self.least_dimensions}


@keras.saving.register_keras_serializable(package="albert_keras")
class ContrastiveLoss(EmbeddingLoss):
    """InfoNCE: each text must be most similar to its pair among the texts of the batch.

    It is the mean of two cross-entropies of scaled cosines: from each first text to all
    second texts and hard negatives, and from each second text to all first texts. Texts
    that equal a text or its pair, by their numbers, are not negatives of it.

    Input shape:
        Numbers of the texts, `(batch, num_texts)`, equal for equal texts; and vectors,
        `(batch, num_texts, embedding_dim)`, of at least two texts.

    Example:

    >>> vectors = ops.eye(4)[None, :2] + ops.zeros((3, 1, 1))
    >>> numbers = ops.reshape(ops.arange(6), (3, 2))
    >>> round(float(ContrastiveLoss()(numbers, vectors)), 4)  # log(3)
    1.0986

    Reference: van den Oord et al. 2018, arXiv 1807.03748; Henderson et al. 2017, arXiv
    1705.00652, section 4.4.
    """

    def of_vectors(self, y_true, vectors):
        num_rows = ops.shape(vectors)[0]
        # (num_others,), (num_others, embedding_dim): second texts, then hard negatives
        numbers = ops.reshape(ops.transpose(y_true)[1:], (-1,))
        others = ops.reshape(
            ops.transpose(vectors, (1, 0, 2))[1:], (-1, vectors.shape[-1])
        )
        logits = SCALE * ops.matmul(vectors[:, 0], ops.transpose(others))
        # (batch, num_others)
        is_known = _equal(y_true[:, 0], numbers) | _equal(y_true[:, 1], numbers)
        firsts = y_true[:, 0]
        of_pairs = _equal(firsts, firsts) | _equal(y_true[:, 1], firsts)
        places = ops.arange(num_rows)
        is_pair = _equal(places, ops.arange(ops.shape(numbers)[0]))
        same_pair = is_known[:, :num_rows] | of_pairs
        is_left_out = ops.concatenate([same_pair, is_known[:, num_rows:]], axis=1)
        logits = ops.where(is_left_out & ~is_pair, _LEAST, logits)
        pairs = logits[:, :num_rows]
        diagonal = ops.sum(ops.where(is_pair[:, :num_rows], pairs, 0.0), axis=1)
        totals = ops.logsumexp(logits, axis=1) + ops.logsumexp(pairs, axis=0)
        return ops.mean(totals / 2 - diagonal)


@keras.saving.register_keras_serializable(package="albert_keras")
class CosentLoss(EmbeddingLoss):
    """CoSENT: pairs with higher scores must have higher cosines.

    `log(1 + sum(exp(20 * (cos_j - cos_i))))` over all i and j of the batch where pair i
    has the higher score.

    Input shape:
        Scores `(batch,)`, and vectors `(batch, 2, embedding_dim)`.

    Reference: Su 2022, https://kexue.fm/archives/8847.
    """

    def of_vectors(self, y_true, vectors):
        scores = ops.reshape(y_true, (-1,))
        cosines = SCALE * ops.sum(vectors[:, 0] * vectors[:, 1], axis=-1)
        is_higher = scores[:, None] > scores[None]
        rises = ops.where(is_higher, cosines[None] - cosines[:, None], _LEAST)
        rises = ops.concatenate([ops.zeros_like(cosines[:1]), ops.ravel(rises)])
        return ops.logsumexp(rises)


@keras.saving.register_keras_serializable(package="albert_keras")
class TeacherVectorLoss(EmbeddingLoss):
    """Mean squared difference from a teacher's vectors, both normalized.

    Input shape:
        The teacher's vectors `(batch, embedding_dim)`, and vectors `(batch, 1,
        embedding_dim)`.

    Reference: Reimers and Gurevych 2020, arXiv 2004.09813, section 2.
    """

    def of_vectors(self, y_true, vectors):
        taught = ops.cast(y_true, vectors.dtype)[:, None, : vectors.shape[-1]]
        return ops.mean(ops.square(vectors - ops.normalize(taught, axis=-1)))


def _equal(numbers, others):
    """Returns where numbers equal others, `(num_numbers, num_others)`."""
    return ops.expand_dims(numbers, 1) == ops.expand_dims(others, 0)
