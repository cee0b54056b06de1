"""Readers of text files, as documents or rows, and batches of rows of similar length."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
