"""Trainer for pretraining and fine-tuning, based on Keras' `compile` and `fit`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
