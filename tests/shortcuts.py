"""What TensorFlow need not do in tests, which trace many small graphs."""

import types


def shortcuts():
    """Yields the objects, names and values of what is replaced.

    One call stack is stored for all operations, not one for each: walking stacks takes a
    twelfth of the time. And TFLite's converter does not collect garbage, which takes half
    a second each time in a process that has run many tests.
    """
    from tensorflow.lite.python import lite
    from tensorflow.python.util import tf_stack

    stack = tf_stack.extract_stack()
    yield tf_stack, "extract_stack", lambda stacklevel=1: stack
    yield lite, "gc", types.SimpleNamespace(collect=lambda: None)
