"""The tokenizer of the tasks' tests."""

from tests.tasks.conftest import tokenizer as tokenizer
