"""Entities in tags, and their scores by the rules of CoNLL.

The usual library, seqeval, has had no release since 2020.
"""

import collections

from albert_keras.preprocessors.tagged_words import check_same_lengths
from albert_keras.tasks.metrics import rates

# The tag of words outside of entities.
OUTSIDE = "O"

# Prefixes as letters of IOBES. BMES and BILOU have other letters for the same.
_PREFIXES = {"B": "B", "I": "I", "E": "E", "S": "S", "M": "I", "L": "E", "U": "S"}


def are_entity_tags(tags):
    """Returns whether all tags except `O` have an entity's prefix, such as `B-PER`."""
    others = [tag for tag in tags if tag != OUTSIDE]
    return bool(others) and all(tag.partition("-")[0] in _PREFIXES for tag in others)


def find_entities(tags):
    """Returns the entities of a sentence: tuples of type, first word and end.

    Tags may follow IOB1 (`B` only between adjacent entities of one type), IOB2 or BIO
    (`B` at each beginning), IOBES, BMES or BILOU. As in conlleval, no order of tags is an
    error: an entity also begins where the type changes, so it begins at `I-PER` after
    `O` or `B-LOC`.

    Args:
        tags: list of str: a prefix, a hyphen and a type, or `O`.

    Example:

    >>> find_entities(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    [('PER', 0, 2), ('LOC', 3, 4), ('LOC', 4, 5)]

    Reference: conlleval, version 2004-01-26, of the CoNLL-2000 shared task, for `B`, `I`
    and `O`. It does not know `S`, a whole entity, and `E`, the end of an entity.
    """
    entities = []
    start = None
    previous = OUTSIDE, ""
    for index, tag in enumerate([*tags, OUTSIDE]):
        prefix, kind = current = parse_tag(tag)
        # A word after the last word of an entity begins another one.
        begins = prefix != OUTSIDE and (
            prefix in "BS" or previous[0] in "OES" or previous[1] != kind
        )
        if start is not None and (begins or prefix == OUTSIDE):
            entities.append((previous[1], start, index))
            start = None
        if begins:
            start = index
        previous = current
    return entities


def describe_entities(text, words, tags, probabilities):
    """Returns the entities of a sentence with their places in a text.

    Args:
        text: str that has the words in this order.
        words, tags, probabilities: Lists of the words, their tags and the tags'
            probabilities.

    Returns:
        List of dicts: `text`, `type`, `start` and `end` (characters, so that
        `text[start:end]` is the entity), and `score`, the mean probability of its tags.

    Example:

    >>> describe_entities("(Ann)", ["(", "Ann", ")"], ["O", "B-PER", "O"], [1, 0.5, 1])
    [{'text': 'Ann', 'type': 'PER', 'start': 1, 'end': 4, 'score': 0.5}]
    """
    places, end = [], 0
    for word in words:
        start = text.index(word, end)
        end = start + len(word)
        places.append((start, end))
    entities = []
    for kind, first, stop in find_entities(tags):
        start, end = places[first][0], places[stop - 1][1]
        share = sum(probabilities[first:stop]) / (stop - first)
        entity = {"text": text[start:end], "type": kind, "start": start, "end": end}
        entities.append({**entity, "score": share})
    return entities


def entity_scores(targets, predictions):
    """Scores predicted entities. A correct one has the type and words of a target.

    Args:
        targets, predictions: Lists of lists of str of the same lengths: tags of words.

    Returns:
        Dict: `rates` of all entities (micro averages), `num_targets`, `num_predictions`,
        `num_correct`, and `types`, a dict from each type, sorted, to these six values.

    Example:

    >>> scores = entity_scores([["B-PER", "I-PER", "O"]], [["B-PER", "O", "O"]])
    >>> scores["f1"], scores["num_predictions"]
    (0.0, 1)
    """
    rule = "Each word must have a target and a prediction"
    check_same_lengths(targets, predictions, rule)
    targets, predictions = map(_entities_of, (targets, predictions))
    groups = targets, predictions, targets & predictions
    counts = [
        collections.Counter(kind for _, (kind, _, _) in entities) for entities in groups
    ]
    types = sorted(counts[0] | counts[1])
    return {
        **_rates(*map(len, groups)),
        "types": {kind: _rates(*(count[kind] for count in counts)) for kind in types},
    }


def parse_tag(tag):
    """Returns the prefix of a tag in the letters of IOBES, and the type of its entity."""
    prefix, _, kind = tag.partition("-")
    return _PREFIXES.get(prefix, OUTSIDE), kind


def _entities_of(sentences):
    return {
        (index, entity)
        for index, tags in enumerate(sentences)
        for entity in find_entities(tags)
    }


def _rates(*counts):
    names = ("num_targets", "num_predictions", "num_correct")
    return {**rates(*counts), **dict(zip(names, counts, strict=True))}
