"""A tokenizer for all tasks."""

import pytest

from tests.tasks.task_checks import make_tokenizer


@pytest.fixture(scope="session")
def tokenizer():
    """A SentencePiece tokenizer trained on the sample."""
    return make_tokenizer()
