"""Published weights into our models; one file a source."""

from albert_keras.converters.checkpoint import CONVERTERS, load_checkpoint

__all__ = ["CONVERTERS", "load_checkpoint"]
