"""ALBERT ("A Lite BERT") for Keras 3 and TensorFlow.

The public interface. The first access to a name imports its module, so that models work
without TensorFlow, and data preparation without Keras. Before you load a saved model with
Keras' own functions, `import albert_keras.models`, which registers its classes.
"""

import lazy_loader

from albert_keras.system.processor import set_variables

set_variables()

# Packages with names that are used less often.
_PARTS = {
    *("analysis", "compression", "converters", "export", "models"),
    *("optimizers", "pretraining", "runs", "tasks", "text", "training"),
}
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [name for name in __all__ if name not in _PARTS]
