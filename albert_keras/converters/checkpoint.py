"""Base class of the sources of checkpoints, which builds the model."""

import abc
import dataclasses
import functools
import os
import pathlib
import tempfile
import warnings

import numpy as np

from albert_keras.checks import check_positive_integer, shortened
from albert_keras.converters.heads import head_rows
from albert_keras.converters.name_table import (
    collect_tensors,
    expand_rows,
    load_variables,
)
from albert_keras.converters.stored_tensors import check_config_sizes
from albert_keras.models import HEADS, AlbertBackbone
from albert_keras.models.classes import are_labels
from albert_keras.tokenizers.loading import find_tokenizer

# Classes of a head, unless the files or `num_classes` say otherwise.
NUM_CLASSES = 2
_PROJECTION = "embedding/projection/kernel"


class Checkpoint(abc.ABC):
    """A checkpoint at a resolved path, and its contents. Each source is a subclass.

    A format that can be written has a static method `write(model, head, folder,
    tokenizer)`; `head` and `tokenizer` may be `None`.

    Args:
        files: Path of the weights.
        path: Path of the checkpoint, beside which a tokenizer may be.
        config: `AlbertConfig` in place of the one in the files, or `None`.
    """

    # Name of the source, and `ConfigFormat` of its configs.
    source = config_format = None
    # Names of the variables: `Row`s of the backbone, and the fields of `ForeignHead`.
    backbone_rows = layouts = ()
    # The head that the files state.
    stated_head = None

    def __init__(self, files, path, config=None):
        self.files, self.path, self.given_config = files, path, config

    def __str__(self):
        return str(self.files)

    @staticmethod
    @abc.abstractmethod
    def find_files(path):
        """Returns the argument `files` for a local path; `None` for another source."""

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
        """The `StoredTensors` of the files."""
        return self.read_tensors()

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
            names = {row.target: row.source for row in rows}
            kernel, bias = names[_PROJECTION], names["embedding/projection/bias"]
            # The projection does nothing for a model that has none.
            tensors.setdefault(kernel, np.eye(config.hidden_dim, dtype="float32"))
            tensors.setdefault(bias, np.zeros(config.hidden_dim, "float32"))
        return tensors

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
        if not self._stores("pooler/kernel"):
            # A classifier without a pooler classifies tokens.
            reads = {head: HEADS[head].model.reads_pooled_output for head in found}
            found.sort(key=lambda head: reads[head] is not False)
        return found[0] if found else None

    def _stores(self, target):
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

    def load(
        self, head, tokenizer=None, num_classes=None, report=None, dtype=None, **given
    ):
        """Returns the model; see `load_checkpoint`.

        `given` are arguments of the model's class in place of those in the files.
        """
        spec = HEADS.get(head)
        if num_classes is not None:
            check_positive_integer("num_classes", num_classes)
            if spec is None or not spec.class_argument or not spec.may_be_new:
                raise ValueError(
                    "`num_classes` must be `None` for a head without its own classes. "
                    f"Received: num_classes={num_classes}, head={head!r}."
                )
        options = {}
        has_head = spec is not None and self.has_head(head)
        if has_head:
            options = self.all_head_options(head)
            has_head = num_classes in (None, options.get(spec.class_argument))
        if spec is not None and not has_head:
            options = self._new_head_options(head, num_classes)
        return self.build(head, has_head, options, given, tokenizer, report, dtype)

    def _new_head_options(self, head, num_classes):
        """Returns the arguments of a new head, and warns that it is new."""
        if not HEADS[head].may_be_new:
            raise ValueError(
                f"The {head} head must be in the files: a new one is of no use. "
                f"Received: {self}. Load it with another `head`, or `head=None`."
            )
        options, of_classes = {}, ""
        if HEADS[head].class_argument:
            options[HEADS[head].class_argument] = num_classes or NUM_CLASSES
            of_classes = f" of {num_classes or NUM_CLASSES} classes"
        warnings.warn(
            f"{self} has no {head} head{of_classes}: the model has a new "
            "one, with random weights. Fine-tune it before use.",
            stacklevel=4,
        )
        return options

    def build(self, head, has_head, options, given, tokenizer, report, dtype):
        """Returns the model with the weights in the files.

        Args:
            head: str or `None`.
            has_head: bool. Whether its weights are in the files; otherwise it is new.
            options: Dict of its arguments.
            given: Dict of arguments of the model's class that have priority.
            tokenizer, report, dtype: As for `load_checkpoint`.
        """
        config = self.config
        found = find_tokenizer(self.path, tokenizer, config.vocabulary_size)
        projects = config.embedding_dim == config.hidden_dim
        projects = projects and self._stores(_PROJECTION)
        config = dataclasses.replace(config, always_project_embeddings=projects)
        check_config_sizes(config, self.tensors, self)
        own = {} if head else given
        backbone = AlbertBackbone(**{**config.to_dict(), "dtype": dtype, **own})
        if not has_head:
            self._assign(backbone, None, report)
        if head is None:
            return backbone
        model = HEADS[head].model(backbone, **{**options, **given})
        if has_head:
            self._assign(model, head, report)
        if "preprocessor" not in given:
            model.add_tokenizer(found, self.path)
        return model

    def _assign(self, model, head, report):
        """Loads all variables of a model that has only the head `head`, or none."""
        own_rows = head_rows(self, head)
        unused = {row.source for other in HEADS for row in head_rows(self, other)}
        unused.update(filter(self.is_known_extra, self.tensors.shapes))
        unknown = self.tensors.shapes.keys() - unused
        if outside := sorted(filter(self.is_outside, unknown)):
            warnings.warn(
                "The checkpoint has tensors that belong to no head of this package; "
                f"ignored: {shortened(', '.join(outside), 1000)}.",
                stacklevel=5,
            )
            unused.update(outside)
        backbone = model if head is None else model.backbone
        rows = expand_rows(self.backbone_rows + own_rows, backbone.albert_config)
        # transformers saves no pooler with heads that do not read it. Then the pooler is
        # new, and is trained with a new head.
        is_optional = head is None or not model.reads_pooled_output
        kept = load_variables(
            model,
            self.tensors,
            rows,
            unused - {row.source for row in own_rows},
            [v.path for v in backbone.pooler.weights if is_optional],
            report,
        )
        if kept and head is None:
            warnings.warn(f"Not in the files, so new: {', '.join(kept)}.", stacklevel=5)


def save_vocabulary(tokenizer, folder):
    """Writes a vocabulary under its published name: `spiece.model` or `vocab.txt`."""
    with tempfile.TemporaryDirectory(dir=folder) as assets:
        tokenizer.save_assets(assets)
        (asset,) = tokenizer.file_assets
        name = "vocab.txt" if asset.endswith(".txt") else "spiece.model"
        os.replace(pathlib.Path(assets, asset), pathlib.Path(folder, name))
