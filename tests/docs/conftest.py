"""Examples and pages run operation by operation, and train for few steps."""

import pytest
import tensorflow as tf

from albert_keras.runs import finetuning_task


@pytest.fixture(scope="module", autouse=True)
def operation_by_operation():
    """Does not trace graphs, which takes longer than the few steps of an example."""
    tf.config.run_functions_eagerly(True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finetuning_task, "LEAST_STEPS", 3)
        yield
    tf.config.run_functions_eagerly(False)
