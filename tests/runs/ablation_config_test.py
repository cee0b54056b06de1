"""Options of an ablation."""

import pytest

from albert_keras.runs import AblationConfig

OPTIONS = {"text": ("corpus/",), "output": "out"}


def test_chosen_arms_are_in_the_order_given():
    config = AblationConfig(name="depth", arms=("6", "3"), **OPTIONS)
    assert [*config.chosen_arms] == ["6", "3"]
    assert len(AblationConfig(name="depth", **OPTIONS).chosen_arms) == 4


@pytest.mark.parametrize("arms", [("6", "12"), ("3", "24")])
def test_arms_are_known_and_have_the_base(arms):
    with pytest.raises(ValueError, match=f"be of 1, 3, 6, 12, with 3.*{arms[1]}"):
        AblationConfig(name="depth", arms=arms, **OPTIONS)


def test_unknown_ablations_are_refused():
    with pytest.raises(ValueError, match="name"):
        AblationConfig(name="colour", **OPTIONS)
