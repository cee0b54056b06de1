"""Options of the analyses are the defaults of their functions."""

import inspect

import pytest

from albert_keras import runs
from albert_keras.runs.analysis_options import AnalysisOptions

FUNCTIONS = ("find_neighbours", "measure_similarity", "probe_model", "read_attention")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_the_defaults_of_the_options(name):
    parameters = inspect.signature(getattr(runs, name)).parameters
    shared = AnalysisOptions.__dataclass_fields__.keys() & parameters.keys()
    shared -= {"text"}
    assert shared
    options = AnalysisOptions()
    for option in shared:
        assert parameters[option].default == getattr(options, option)


def test_ranges_are_checked():
    with pytest.raises(ValueError, match="greater than 0 and less than 1"):
        AnalysisOptions(held_out_share=1.0)
