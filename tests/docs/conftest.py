"""Examples and pages run operation by operation."""

import pytest
import tensorflow as tf


@pytest.fixture(scope="module", autouse=True)
def operation_by_operation():
    """Does not trace graphs, which takes longer than the few steps of an example."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)
