"""Options of the analyses are the defaults of their functions."""

import inspect

import pytest

from albert_keras import runs
from albert_keras.runs.analyses import AnalysisOptions


def test_similarity_has_the_defaults_of_the_options():
    parameters = inspect.signature(runs.measure_similarity).parameters
    shared = AnalysisOptions.__dataclass_fields__.keys() & parameters.keys()
    assert shared
    options = AnalysisOptions()
    for option in shared:
        assert parameters[option].default == getattr(options, option)


def test_ranges_are_checked():
    with pytest.raises(ValueError, match="num_texts"):
        AnalysisOptions(num_texts=0)
