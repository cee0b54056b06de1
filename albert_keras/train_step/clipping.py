"""Clipping of gradients that are summed over all replicas."""

import contextlib
import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Clipping:
    """Gradient limits of a Keras optimizer, which sets at most one.

    The gradient of a table that is only looked up, such as the segment embeddings,
    consists of slices, one for each lookup. As in the original, norms count each slice
    separately, instead of summing them by row, on any number of replicas. (On JAX all
    gradients are dense, so the norm of such a table differs.)
    """

    global_clipnorm: float | None = None
    clipnorm: float | None = None
    clipvalue: float | None = None

    def apply(self, gradients, norm, scale):
        """Returns the clipped gradients as dense tensors.

        Args:
            gradients: List of dense tensors and `tf.IndexedSlices`, multiplied by the
                loss scale.
            norm: Scalar. Their global norm. If it is not finite, gradients that are
                clipped by it become NaN.
            scale: Scalar. The loss scale of mixed precision, or 1.
        """
        if self.global_clipnorm:
            gradients, _ = tf.clip_by_global_norm(
                gradients, self.global_clipnorm * scale, use_norm=norm
            )
        elif self.clipnorm:
            limit = self.clipnorm * scale
            gradients = [tf.clip_by_norm(gradient, limit) for gradient in gradients]
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        if self.clipvalue:
            limit = self.clipvalue * scale
            gradients = [tf.clip_by_value(g, -limit, limit) for g in gradients]
        return gradients

    @classmethod
    def of(cls, optimizer):
        """Returns the limits of a Keras optimizer."""
        optimizer = getattr(optimizer, "inner_optimizer", optimizer)
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: getattr(optimizer, name) for name in names})

    @contextlib.contextmanager
    def taken_from(self, optimizer):
        """Prevents an optimizer with these limits from clipping inside the context."""
        optimizer = getattr(optimizer, "inner_optimizer", optimizer)
        limits = dataclasses.asdict(self)
        for name in limits:
            setattr(optimizer, name, None)
        try:
            yield
        finally:
            for name, limit in limits.items():
                setattr(optimizer, name, limit)
