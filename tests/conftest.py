"""Fixtures for all tests: reference checkpoints, vocabularies and corpora."""

import gc
import importlib.metadata
import importlib.util
import os
import pathlib
import signal
import types

import pytest

# Before TensorFlow is imported: the tests compute with the settings that this makes.
import albert_keras  # noqa: F401
from tests.forked_processes import START_METHOD, share_servers

TESTS = pathlib.Path(__file__).resolve().parent
FIXTURES = TESTS / "fixtures"
SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared"

# For TensorFlow and JAX: compiling takes longer than a few tiny steps. JAX ends at a flag
# that its version does not know.
FLAGS = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
if not importlib.util.find_spec("jax") or importlib.metadata.version("jax") < "0.11":
    FLAGS += " --xla_cpu_use_fusion_emitters=false"
os.environ.setdefault("XLA_FLAGS", FLAGS)

# Tracing creates many objects that stay. With default thresholds the garbage collector
# takes a tenth of the tests' time.
gc.set_threshold(200_000, 50, 100)

# Folders whose tests run graphs as they are traced; see `graphs_as_traced`.
AS_TRACED = {
    *("analysis", "cli", "compression", "converters", "models", "preprocessors"),
    *("pretraining", "runs", "tasks", "text", "tokenizers", "tools"),
}

# A shell starts background jobs with Ctrl-C ignored, which child processes inherit. Some
# tests interrupt theirs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def fixtures():
    """Folder of small reference checkpoints and their outputs; see its README.md."""
    return FIXTURES


@pytest.fixture(scope="session")
def shared():
    """Folder of real vocabularies and corpora; tests skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("needs the real vocabularies and corpora in ../shared")
    return SHARED


@pytest.fixture(scope="session", autouse=True)
def one_stack_of_operations():
    """TensorFlow stores one call stack for all operations, not one for each.

    Walking stacks takes a twelfth of the time of tests, which trace many small graphs.
    """
    from tensorflow.python.util import tf_stack

    stack = tf_stack.extract_stack()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tf_stack, "extract_stack", lambda stacklevel=1: stack)
        yield


@pytest.fixture(scope="session", autouse=True)
def conversions_without_collections():
    """TFLite's converter does not collect garbage.

    It does each time, for half a second in a process that has run many tests.
    """
    from tensorflow.lite.python import lite

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lite, "gc", types.SimpleNamespace(collect=lambda: None))
        yield


@pytest.fixture(scope="session", autouse=True)
def bases_set_once():
    """Keras leaves the bases of a class as they are, if `Functional` is among them.

    It sets them for each model, and Python then forgets what it knows of all subclasses:
    a fiftieth of the time of tests.
    """
    from keras.src.models import model

    inject = model.inject_functional_model_class

    def inject_once(cls):
        is_done = any(base.__name__ == "Functional" for base in cls.__mro__)
        return cls if is_done else inject(cls)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "inject_functional_model_class", inject_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def forked_workers():
    """Workers of data preparation are forked from a process that has the imports.

    Their imports take five seconds, longer than their work. In `workers_test.py` and in
    the processes that tests start they are new processes, as for users.
    """
    from albert_keras.pretraining import workers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "START_METHOD", START_METHOD)
        yield


@pytest.fixture(scope="module", autouse=True)
def graphs_as_traced(request):
    """Leaves out TensorFlow's optimization of graphs in some folders.

    It takes a tenth of the time of tests that run a graph few times. The other tests run
    what users run: those of layers, training steps, exported files and notebooks, the
    whole way of `tests/integration`, and those that compare bits with another process.
    """
    import tensorflow as tf

    has_processes = hasattr(request.module, "forked_processes")
    is_in_folder = request.path.resolve().relative_to(TESTS).parts[0] in AS_TRACED
    options = {"disable_meta_optimizer": is_in_folder and not has_processes}
    tf.config.optimizer.set_experimental_options(options)


def pytest_configure(config):
    """Starts the processes that the workers of pytest-xdist fork."""
    if getattr(config.option, "numprocesses", None):
        is_quick = config.option.markexpr == "not slow"
        share_servers(["tensorflow"] if is_quick else ["tensorflow", "jax"])


def pytest_collection_finish():
    """Keeps what is imported from the garbage collector."""
    gc.freeze()


def pytest_sessionfinish():
    """Keeps what is left from pytest's ten collections at the end."""
    gc.freeze()


def pytest_collection_modifyitems(items):
    """Sorts files with slow tests first, so that processes end at about the same time."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
