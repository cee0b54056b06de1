"""Packages that import a module when one of its names is first asked for."""

import importlib


def lazy_names(package, homes):
    """Returns the `__getattr__` and `__dir__` of a package with lazy names (PEP 562).

    Encoding text and preparing data need neither Keras nor TensorFlow, and worker
    processes, of which there are many, should not wait for them.

    Args:
        package: str. The package's `__name__`.
        homes: dict str -> str. The module of each public name.

    Example:

    >>> __getattr__, __dir__ = lazy_names("numbers", {"gcd": "math"})
    >>> __getattr__("gcd")(12, 18)
    6
    """

    def get_attribute(name):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return get_attribute, lambda: list(homes)
