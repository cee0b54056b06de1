"""Entities in all schemes, and scores computed by hand."""

import pytest

from albert_keras.tasks.entities import are_entity_tags, entity_scores, find_entities

# Of the same sentence of eight words.
ENTITIES = [("PER", 0, 2), ("PER", 2, 3), ("LOC", 4, 5), ("ORG-X", 5, 8)]
SCHEMES = {
    "IOB1": "I-PER I-PER B-PER O I-LOC I-ORG-X I-ORG-X I-ORG-X",
    "IOB2": "B-PER I-PER B-PER O B-LOC B-ORG-X I-ORG-X I-ORG-X",
    "IOBES": "B-PER E-PER S-PER O S-LOC B-ORG-X I-ORG-X E-ORG-X",
    "BMES": "B-PER E-PER S-PER O S-LOC B-ORG-X M-ORG-X E-ORG-X",
    "BILOU": "B-PER L-PER U-PER O U-LOC B-ORG-X I-ORG-X L-ORG-X",
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_schemes(scheme):
    assert find_entities(SCHEMES[scheme].split()) == ENTITIES


@pytest.mark.parametrize(
    ("tags", "entities"),
    [
        ("", []),
        ("O O", []),
        ("O I-PER", [("PER", 1, 2)]),
        ("B-PER I-LOC I-LOC", [("PER", 0, 1), ("LOC", 1, 3)]),
        ("B-PER B-PER", [("PER", 0, 1), ("PER", 1, 2)]),
        ("E-PER I-PER E-PER", [("PER", 0, 1), ("PER", 1, 3)]),
        ("I-PER S-PER I-PER", [("PER", 0, 1), ("PER", 1, 2), ("PER", 2, 3)]),
        ("B I O B", [("", 0, 2), ("", 3, 4)]),
    ],
)
def test_no_order_of_tags_is_an_error(tags, entities):
    assert find_entities(tags.split()) == entities


def test_tags_without_a_scheme():
    assert are_entity_tags(["B-PER", "O"])
    assert not are_entity_tags(["O"])
    assert not are_entity_tags(["B-PER", "NN"])


def test_scores_by_hand():
    targets = ["B-PER I-PER O B-LOC".split(), "B-LOC O B-LOC I-LOC B-MISC".split()]
    predictions = [
        # Right; another type.
        "B-PER I-PER O B-PER".split(),
        # Right; the end is wrong; nothing; one that is none.
        "I-LOC O B-LOC O O".split(),
    ]
    scores = entity_scores(targets, predictions)
    numbers = {"num_targets": 5, "num_predictions": 4, "num_correct": 2}
    rates = {"precision": 2 / 4, "recall": 2 / 5, "f1": 4 / 9}
    assert {k: v for k, v in scores.items() if k != "types"} == {**rates, **numbers}
    assert list(scores["types"]) == ["LOC", "MISC", "PER"]
    rates = [tuple(row.values())[:4] for row in scores["types"].values()]
    assert rates == [(1 / 2, 1 / 3, 2 / 5, 3), (0, 0, 0, 1), (1 / 2, 1, 2 / 3, 1)]
