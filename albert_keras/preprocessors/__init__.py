"""Preprocessors: text and labels to the inputs of each head.

`texts`, `tagged_words`, `choices` and `answer_windows` make `Examples` without Keras, for
fine-tuning runs. Keras layers, with the names and calls of keras-hub's preprocessors, use
the same functions, for `fit` and `predict` on raw text.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
