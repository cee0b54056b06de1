"""Deferred imports for the packages that list their public names."""

import ast
import importlib


def lazy_names(spec):
    """Returns the `__getattr__`, `__dir__` and `__all__` of a package.

    Encoding text and preparing data need neither Keras nor TensorFlow, and worker
    processes, of which there are many, should not wait for them. Such a package imports
    its public names under `if TYPE_CHECKING:`, which editors and type checkers read and
    Python skips. This function reads these imports from the source, and imports a module
    on the first access to one of its names (PEP 562).

    Args:
        spec: `ModuleSpec` of the package, its `__spec__`.
    """
    source = spec.loader.get_source(spec.name)
    modules = {
        alias.name: statement.module
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for statement in block.body
        for alias in statement.names
    }

    def get_attribute(name):
        if name not in modules:
            raise AttributeError(f"module {spec.name!r} has no attribute {name!r}")
        return getattr(importlib.import_module(modules[name]), name)

    return get_attribute, lambda: list(modules), list(modules)
