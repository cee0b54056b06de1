"""Tokenizers: text to token ids and back, in Python and in the TensorFlow graph.

An encoder needs neither Keras nor TensorFlow. A tokenizer is a Keras layer around it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
