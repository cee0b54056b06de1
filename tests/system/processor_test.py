"""Variables of TensorFlow, and the number of cores."""

import os
import sys

from albert_keras.system.processor import (
    ENVIRONMENT,
    hint_at_variables,
    set_variables,
    usable_cores,
)


def test_variables_are_set_before_tensorflow_and_those_of_the_user_stay(monkeypatch):
    first, *others = ENVIRONMENT
    for name in others:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(first, "0")
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    set_variables()
    assert not {*others} & {*os.environ}
    monkeypatch.delitem(sys.modules, "tensorflow")
    set_variables()
    assert {name: os.environ[name] for name in ENVIRONMENT} == ENVIRONMENT | {
        first: "0"
    }


def test_one_line_says_that_they_came_too_late(monkeypatch, caplog):
    hint_at_variables.cache_clear()
    hint_at_variables()
    assert not caplog.records
    hint_at_variables.cache_clear()
    monkeypatch.delenv("TF_CPU_ALLOCATOR_USE_BFC")
    hint_at_variables()
    hint_at_variables()
    (record,) = caplog.records
    assert "if TF_CPU_ALLOCATOR_USE_BFC=true is set before" in record.getMessage()


def test_cores_where_affinity_is_unknown(monkeypatch):
    affinity = {"target": os, "name": "sched_getaffinity", "raising": False}
    monkeypatch.setattr(value=lambda process: {0, 3}, **affinity)
    assert usable_cores() == 2
    monkeypatch.setattr(os, "cpu_count", lambda: 13)
    monkeypatch.delattr(**affinity)
    assert usable_cores() == 13
