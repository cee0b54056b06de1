"""The number of usable cores."""

import os

import pytest

from albert_keras.system.processor import usable_cores


@pytest.mark.parametrize("system", ["linux", "others"])
def test_cores_where_affinity_is_unknown(system, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 13)
    if system == "linux":
        monkeypatch.setattr(
            os, "sched_getaffinity", lambda process: {0, 3}, raising=False
        )
        assert usable_cores() == 2
    else:
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
        assert usable_cores() == 13
