"""Base class of the sources of checkpoints."""

import abc
import functools
import warnings

from albert_keras.converters.heads import head_rows
from albert_keras.converters.name_table import (
    collect_tensors,
    expand_rows,
    with_identity_projection,
    without_identity_projection,
)
from albert_keras.models import HEADS
from albert_keras.models.classes import are_labels

# Classes of a head, unless the files or `num_classes` say otherwise.
NUM_CLASSES = 2


class Checkpoint(abc.ABC):
    """A checkpoint at a resolved path, and its contents. Each source is a subclass.

    A format that can be written has a static method `write(model, head, folder,
    tokenizer)`; `head` and `tokenizer` may be `None`.

    Args:
        files: Path of the weights, or a model in memory.
        folder: str or path. Place of a tokenizer, or `None` for a model in memory.
    """

    # Name of the source, and `ConfigFormat` of its configs.
    source = config_format = None
    # Names of the variables: `Row`s of the backbone, and the fields of `ForeignHead`.
    backbone_rows = layouts = ()
    # The head that the files state.
    stated_head = None
    # `AlbertConfig` in place of the one in the files.
    given_config = None

    def __init__(self, files, folder):
        self.files, self.folder = files, folder

    def __str__(self):
        return self.files.name if self.folder is None else str(self.files)

    @classmethod
    def find(cls, path):
        """Returns the checkpoint at a local path, or `None` if it is another source's."""
        files = cls.find_files(path)
        return cls(files, path) if files else None

    @staticmethod
    @abc.abstractmethod
    def find_files(path):
        """Returns the argument `files` for a local path, or `None`."""

    @abc.abstractmethod
    def read_config(self):
        """Returns the `AlbertConfig` in the files."""

    @abc.abstractmethod
    def read_tensors(self):
        """Returns the `StoredTensors` of the files."""

    def head_options(self, head):
        """Returns the arguments of a head that the files state, a dict."""
        return {}

    def is_known_extra(self, name):
        """Returns whether files may hold a variable that no model has."""
        return False

    def is_outside(self, name):
        """Returns whether an unknown variable is ignored with a warning."""
        return False

    @functools.cached_property
    def config(self):
        """The `AlbertConfig` of the model: the given one, or the one in the files."""
        return self.given_config or self.read_config()

    @functools.cached_property
    def tensors(self):
        """`StoredTensors` of the files, without a projection that does nothing."""
        tensors = self.read_tensors()
        if self.config_format and self.config_format.always_projects:
            return without_identity_projection(tensors, *self._projection_names())
        return tensors

    @classmethod
    def tensors_of(cls, model, head, left_out=()):
        """Returns a model's weights by the names of this source, a dict of arrays.

        Args:
            model: Model of this package.
            head: str or `None`.
            left_out: Variables that the source does not have.
        """
        config = getattr(model, "backbone", model).albert_config
        rows = expand_rows(cls.backbone_rows + head_rows(cls, head), config)
        ignored = {variable.path for variable in left_out}
        variables = [v for v in model.weights if v.path not in ignored]
        tensors = collect_tensors(variables, rows)
        if cls.config_format.always_projects:
            names = cls._projection_names()
            return with_identity_projection(tensors, config.hidden_dim, *names)
        return tensors

    @classmethod
    def _projection_names(cls):
        targets = ("embedding/projection/kernel", "embedding/projection/bias")
        return [row.source for row in cls.backbone_rows if row.target in targets]

    @classmethod
    def known_heads(cls):
        """Returns the heads that files of this source can hold."""
        return [head for head in HEADS if head_rows(cls, head)]

    @functools.cached_property
    def head(self):
        """The head in its files, or `None`.

        If the files do not state their head, it is the first one with a variable in them.
        Google's classifiers and multiple-choice models look the same.
        """
        stated = self.stated_head
        heads = [stated] if stated else self.known_heads()
        found = [head for head in heads if self._holds(head)]
        if not self.stores("pooler/kernel"):
            # A classifier without a pooler classifies tokens.
            reads = {head: HEADS[head].model.reads_pooled_output for head in found}
            found.sort(key=lambda head: reads[head] is not False)
        return found[0] if found else None

    def stores(self, target):
        """Returns whether it has a variable of the backbone, by its path in a model."""
        rows = self.backbone_rows
        return any(row.source in self.tensors for row in rows if row.target == target)

    def has_head(self, head):
        """Returns whether it holds a head, and states no other one."""
        return self.stated_head in (None, head) and self._holds(head)

    def _holds(self, head):
        names = {row.source for row in head_rows(self, head)}
        return not HEADS[head].has_weights or bool(names & self.tensors.shapes.keys())

    def all_head_options(self, head):
        """Returns the arguments of a head in the files, with the number of classes."""
        options, spec = self.head_options(head), HEADS[head]
        if spec.class_argument is None:
            return options
        rows = head_rows(self, head)
        names = [row.source for row in rows if row.target == spec.class_bias]
        shapes = [self.tensors.shapes[name] for name in names if name in self.tensors]
        if shapes:
            # A scalar will be reported as mis-shaped.
            num_classes = shapes[0][0] if shapes[0] else 1
        elif head == "pretraining":
            # Published folders of Hugging Face, TF-Hub and keras-hub have none.
            warnings.warn(
                f"{self} has no sentence-pair head, so the model has none.",
                stacklevel=4,
            )
            num_classes = 0
        else:
            # The bias will be reported as missing.
            num_classes = NUM_CLASSES
        labels = options.get("labels")
        if labels is not None and not are_labels(labels, num_classes):
            warnings.warn(
                f"`id2label` in '{self.config_file}' does not name "
                f"each of {num_classes} classes once. Their names are numbers instead.",
                stacklevel=4,
            )
            options["labels"] = None
        return {**options, spec.class_argument: num_classes}
