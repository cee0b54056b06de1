"""Text to token ids and back, in Python and in the TensorFlow graph.

The encoders need neither Keras nor TensorFlow; the tokenizers, Keras layers, have them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
