"""ALBERT ("A Lite BERT") for Keras 3 and TensorFlow.

The public interface. A module is imported on the first access to one of its names, so
that models run where TensorFlow is absent, and data preparation where Keras is absent.
To load a saved model with Keras' own functions, first `import albert_keras.models`,
which registers the classes that it may consist of.
"""

import lazy_loader

from albert_keras.system.processor import set_variables

set_variables()

# What is used less often stands one level down.
_PARTS = {
    *("analysis", "compression", "converters", "export", "models"),
    *("optimizers", "pretraining", "runs", "tasks", "text", "training"),
}
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [name for name in __all__ if name not in _PARTS]
