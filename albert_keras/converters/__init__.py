"""Loading and saving of checkpoints, one module per source; changes of architecture."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
