"""Tables of variable names, and the one strict loop that copies along them."""

import dataclasses

import numpy as np

# Paths of the shared sub-layers in our models, with the places that a row fills in.
_ENCODER = "group_{group}_inner_{inner}"
ATTENTION = f"{_ENCODER}/{_ENCODER}_attention"
FEED_FORWARD = f"{_ENCODER}/{_ENCODER}_feed_forward"


@dataclasses.dataclass(frozen=True)
class Row:
    """One variable: its name in the source, its path in ours, how the axes differ.

    Args:
        source: str. Name in the foreign file; `{group}` and `{inner}` are filled in.
        target: str. Path of our variable, with the same places.
        transposed: bool. Whether the source stores the matrix the other way round.
    """

    source: str
    target: str
    transposed: bool = False


def expand_rows(rows, albert_config):
    """Returns `rows` with a copy for each group and inner repetition that is named.

    Args:
        rows: Sequence of `Row`.
        albert_config: `AlbertConfig` with `sharing="all"`, as all published files have.
    """
    num_layers, num_groups = albert_config.num_layers, albert_config.num_groups
    groups = sorted({i * num_groups // num_layers for i in range(num_layers)})
    places = [
        {"group": group, "inner": inner}
        for group in groups
        for inner in range(albert_config.num_inner_repetitions)
    ]
    return [
        Row(row.source.format(**place), row.target.format(**place), row.transposed)
        for row in rows
        for place in (places if "{group}" in row.source else [{}])
    ]


def assign_variables(model, tensors, rows, skipped_names=(), optional_targets=()):
    """Copies every tensor into the variable its row names; all or nothing.

    Args:
        model: Built Keras model.
        tensors: Mapping from source name to an array; read one at a time.
        rows: Expanded `Row`s. Those whose target the model lacks are left out.
        skipped_names: Source names that are known and not wanted.
        optional_targets: Paths of variables that the source need not have.

    Raises:
        ValueError: If a variable of the model is missing in the source, a source name
            is unknown, or a shape differs. The message lists all of them.
    """
    variables = {variable.path: variable for variable in model.weights}
    rows = [row for row in rows if row.target in variables]
    planned = {row.source for row in rows}
    filled = {row.target for row in rows if row.source in tensors}

    problems = [
        f"missing: {path}"
        for path in variables
        if path not in filled and path not in optional_targets
    ]
    problems += [
        f"unexpected: {name} {np.shape(tensors[name])}"
        for name in tensors
        if name not in planned and name not in skipped_names
    ]
    for row in rows:
        if row.source in tensors:
            received = np.shape(tensors[row.source])
            received = received[::-1] if row.transposed else received
            expected = tuple(variables[row.target].shape)
            if received != expected:
                problems.append(
                    f"shape: {row.source} gives {received}, "
                    f"{row.target} expects {expected}"
                )
    if problems:
        raise ValueError(
            "The checkpoint does not fit the model; nothing was loaded. "
            f"Received {len(problems)} problems:\n  " + "\n  ".join(problems)
        )
    for row in rows:
        if row.source not in tensors:
            continue
        value = np.asarray(tensors[row.source])
        variables[row.target].assign(value.T if row.transposed else value)


def translate_config(values, names, ignored_names, source):
    """Returns foreign config values under our names.

    Args:
        values: Dict read from the source's JSON.
        names: Dict from foreign key to ours.
        ignored_names: Foreign keys that say nothing about the architecture.
        source: str. For the message.

    Raises:
        ValueError: If a key is unknown, so that nothing is silently replaced.
    """
    unknown = sorted(set(values) - set(names) - set(ignored_names))
    if unknown:
        raise ValueError(
            f"The {source} config has keys that are not understood. "
            f"Received: {', '.join(unknown)}."
        )
    translated = {names[key]: value for key, value in values.items() if key in names}
    # Both sources mean no dropout where they do not name one.
    return {"dropout": 0.0, "attention_dropout": 0.0, **translated}


def translate_activation(name, activations, source):
    """Returns our name of a foreign activation.

    Raises:
        ValueError: If `name` is not one of `activations`.
    """
    if name not in activations:
        raise ValueError(
            f"The {source} activation must be one of {', '.join(activations)}. "
            f"Received: hidden_act={name!r}."
        )
    return activations[name]
