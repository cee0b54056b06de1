"""Keras gets to know our classes when it is imported, and not before.

Keras loads a saved model only if its classes are registered, that is, if their modules
are imported. `import albert_keras` imports none of them, for the sake of processes that
only prepare data; so it asks Python to import them as soon as Keras is there.
"""

import functools
import importlib
import importlib.abc
import importlib.util
import sys

# The modules with registered classes; `models` imports those of the layers.
_MODULES = (
    "albert_keras.models",
    "albert_keras.optimizers",
    "albert_keras.tokenizers.sentence_piece",
    "albert_keras.tokenizers.word_piece",
    "albert_keras.train_step.losses",
)

# Keras, and what may import it while being imported itself, as our own modules may.
_PACKAGES = ("keras", "keras_hub", "tensorflow", "tensorflow_text", "albert_keras")


def register_when_keras_is_imported():
    """Imports the modules of our Keras classes, now or as soon as Keras is imported."""
    if "keras" in sys.modules:
        _register()
    elif not any(isinstance(finder, _KerasWatch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _KerasWatch())


def _register():
    # Where data is prepared there may be a Keras, but none for us.
    if importlib.util.find_spec("keras_hub") is not None:
        for module in _MODULES:
            importlib.import_module(module)


class _KerasWatch(importlib.abc.MetaPathFinder):
    """Finder of no module of its own: it waits for the outermost import to end.

    Keras may be imported by one of the packages that our modules need, or by one of our
    modules; they can all be imported only when that one is whole.
    """

    def __init__(self):
        self._depth = 0

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in _PACKAGES:
            return None
        finders = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(name, path, target) for finder in finders)
        spec = next(filter(None, specs), None)
        if spec is not None and spec.loader is not None:
            execute = functools.partial(self._execute, spec.loader.exec_module)
            spec.loader.exec_module = execute
        return spec

    def _execute(self, execute, module):
        self._depth += 1
        try:
            execute(module)
        finally:
            self._depth -= 1
        if self._depth == 0 and self in sys.meta_path and "keras" in sys.modules:
            sys.meta_path.remove(self)
            _register()
