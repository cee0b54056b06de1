"""Configs of other libraries, read and written as `AlbertConfig`."""

import dataclasses

from albert_keras.checks import check_choice
from albert_keras.config import AlbertConfig

# Values of fields that have no key in a format, with the remedy for other values.
_GROUPS = (
    " Separate layers are groups there: `change_architecture(model, sharing='all', "
    "num_groups=num_layers)`."
)
_SAME_WEIGHTS = " `change_architecture(model, attention='full')` has the same weights."
_NOT_PROJECTED = " Its code does not project embeddings as wide as the encoder."
_FIXED_VALUES = {
    "sharing": ("all", _GROUPS),
    "layer_norm_epsilon": (1e-12, ""),
    "attention": ("full", _SAME_WEIGHTS),
    "always_project_embeddings": (False, _NOT_PROJECTED),
}


@dataclasses.dataclass(frozen=True)
class ConfigFormat:
    """Keys and activations of a library's config.

    Args:
        source: str. The library's name, for errors.
        names: Dict from its keys to fields of `AlbertConfig`.
        activations: Dict from its activations to those of this package. Of several names
            the first one is written.
        activation: str. Its activation if the config states none.
        always_projects: bool. Whether its models project embeddings of every width.
            Otherwise a projection between equal widths cannot be written.
    """

    source: str
    names: dict
    activations: dict
    activation: str
    always_projects: bool = False

    def read(self, stated):
        """Returns the `AlbertConfig` of a dict with the library's keys.

        Other keys are ignored, as the libraries do.
        """
        # All sources have no dropout by default.
        values = {"dropout": 0.0, "attention_dropout": 0.0}
        values["activation"] = self.activation
        values |= {self.names[key]: stated[key] for key in self.names if key in stated}
        check_choice("hidden_act", values["activation"], self.activations)
        values["activation"] = self.activations[values["activation"]]
        return AlbertConfig.from_dict(values)

    def write(self, config):
        """Returns an `AlbertConfig` as a dict with the library's keys."""
        values = config.to_dict()
        values["attention_dropout"] = config.attention_dropout_rate
        can_vary = {*self.names.values()}
        if self.always_projects:
            can_vary.add("always_project_embeddings")
        for name, (only, remedy) in _FIXED_VALUES.items():
            if name not in can_vary and values[name] != only:
                raise ValueError(
                    f"{self.source}'s models must have {name}={only!r}. "
                    f"Received: {name}={values[name]!r}.{remedy}"
                )
        names = {here: name for name, here in reversed(self.activations.items())}
        if config.activation not in names:
            known = ", ".join(dict.fromkeys(self.activations.values()))
            raise ValueError(
                f"{self.source}'s models must have an activation of {known}. "
                f"Received: activation={config.activation!r}."
            )
        values["activation"] = names[config.activation]
        return {key: values[field] for key, field in self.names.items()}
