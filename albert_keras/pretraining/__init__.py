"""Pretraining: documents to token ids, pairs, masked examples and batches; its task."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
