"""A development server of exported models, with the REST paths of TensorFlow Serving."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
