"""The notebooks run offline, and print what they promise."""

import pytest

from tests import notebooks

PRINTED = {
    1: ["lines, equal in Python and TensorFlow:\nTrue"],
    2: ["481 documents", "of all tokens are predicted"],
    3: ["unigrams", "sentence order:"],
    4: ["accuracy on the test reviews:"],
    5: ["exact match on new stories about one person"],
    6: ["accuracy of the student:", "docker-compose.yml"],
    7: ["on jax"],
    8: ["MRR of trained vectors:", "lowest cosine with the model's vectors: 1.00"],
}


@pytest.mark.slow
@pytest.mark.parametrize("number", PRINTED)
def test_notebook_runs_offline(number, tmp_path, monkeypatch):
    # The seventh chooses the backend.
    printed = notebooks.execute(number, tmp_path, monkeypatch, forks=number != 7)
    assert all(part in printed for part in PRINTED[number])
