"""Faster and smaller models from trained ones: early exit and distillation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
