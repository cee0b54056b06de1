"""Presets of this package, checked before Keras allocates memory."""

import dataclasses
import functools

import keras

from albert_keras.config import AlbertConfig
from albert_keras.converters.checkpoint import Checkpoint
from albert_keras.converters.heads import head_of
from albert_keras.converters.stored_tensors import (
    StoredTensors,
    check_bias,
    check_config_sizes,
)
from albert_keras.converters.weight_files import read_keras_weights, weights_of_preset
from albert_keras.models import HEADS, AlbertBackbone
from albert_keras.models.task import TaskModel
from albert_keras.presets.preset_files import (
    is_own,
    is_quantized,
    loads_preset,
    read_object,
)
from albert_keras.tokenizers.loading import find_tokenizer


class OwnPreset(Checkpoint):
    """The folder of a preset of this package."""

    source = "keras"

    @staticmethod
    def find_files(path):
        return path if is_own(path / "config.json") else None

    @classmethod
    def known_heads(cls):
        return [*HEADS]

    def read_config(self):
        """Returns the `AlbertConfig` in `config.json`."""
        names = {field.name for field in dataclasses.fields(AlbertConfig)}
        stated = self._backbone_arguments()
        return AlbertConfig.from_dict({n: stated[n] for n in stated if n in names})

    def read_tensors(self):
        """Checks the tensors of the backbone; returns their `StoredTensors`."""
        return self._read_weights(weights_of_preset(self.files)[1])

    @functools.cached_property
    def task(self):
        """The class of the saved model with a head, or `None`, and its arguments."""
        if not (self.files / "task.json").is_file():
            return None, {}
        return read_object(self.files / "task.json")

    @functools.cached_property
    def head(self):
        """The head of the saved model, or `None`."""
        saved, _ = self.task
        return head_of(saved) if saved and issubclass(saved, TaskModel) else None

    def has_head(self, head):
        return self.head == head or not HEADS[head].has_weights

    def all_head_options(self, head):
        """Returns the number of classes of the saved head."""
        name, (_, stated) = HEADS[head].class_argument, self.task
        return {name: stated[name]} if name in stated else {}

    def build(self, head, has_head, options, given, tokenizer, report, dtype):
        """Returns the saved model, or one with a new head; see `Checkpoint.build`."""
        for name, value in {"config": self.given_config, "report": report}.items():
            if value is not None:
                raise ValueError(
                    f"`{name}` must be `None` for a preset, which has its own config and "
                    f"is loaded whole. Received: path='{self}', {name}={value}."
                )
        # Checks a vocabulary beside the preset too, which it does not use.
        found = find_tokenizer(self.path, tokenizer, self.config.vocabulary_size)
        if head is None:
            return self.load_class(AlbertBackbone, dtype=dtype)
        tokenizer = None if tokenizer is None else found or False
        # Loads a preset of a subclass as that class.
        model_class = self.task[0] if self.head == head else HEADS[head].model
        return self.load_class(model_class, True, dtype, tokenizer, **options)

    def load_class(
        self, model_class, load_weights=True, dtype=None, tokenizer=None, **options
    ):
        """Returns a model of a class, or of a saved class that derives from it.

        Args:
            model_class: `AlbertBackbone`, or class of a model with a head. The head has
                random weights if the preset has none for this class, or if the number of
                classes differs.
            load_weights: bool. `False` gives random weights.
            dtype, tokenizer: As for `load_checkpoint`.
            **options: Arguments of the class that replace saved ones.

        Raises:
            ValueError: If a file is damaged, or a config describes more weights than the
                files hold.
        """
        is_backbone = issubclass(model_class, AlbertBackbone)
        saved, stated = (None, {}) if is_backbone else self.task
        if saved and not issubclass(saved, (model_class, *model_class.also_loads)):
            saved, stated = None, {}
        if load_weights:
            self.check(stated)
        with loads_preset(self.files):
            own = options if is_backbone else {}
            backbone = self._load_backbone(load_weights, dtype, own)
            if is_backbone:
                return backbone
            num_classes = stated.get("num_classes")
            changed = options.get("num_classes", num_classes) != num_classes
            if changed and stated.get("labels"):
                options.setdefault("labels", None)
            # A model that is converted, or gets a tokenizer, has a new preprocessor.
            is_kept = tokenizer is None and saved and issubclass(saved, model_class)
            is_new = not is_kept and "preprocessor" not in options
            if is_new:
                options["preprocessor"] = None
            arguments = {**stated, "backbone": backbone, **options}
            model = (saved or model_class).from_config(arguments)
            if is_new:
                found = find_tokenizer(self.files, tokenizer, backbone.vocabulary_size)
                model.add_tokenizer(found, self.files)
            elif "preprocessor" not in options and model.preprocessor is not None:
                model.preprocessor.load_preset_assets(str(self.files))
            file = self.files / "task.weights.h5"
            if load_weights and saved and not changed and file.is_file():
                model.load_task_weights(str(file))
            return model

    def _load_backbone(self, load_weights, dtype, options):
        model_class, stated = read_object(self.files / "config.json")
        saved = keras.dtype_policies.get(stated.get("dtype"))
        # Other policies only say how the numbers are stored.
        is_kept = is_quantized(stated.get("dtype")) or saved.name.startswith("mixed_")
        stated["dtype"] = dtype or (saved if is_kept else None)
        backbone = model_class.from_config(stated | options)
        if load_weights:
            backbone.load_weights(weights_of_preset(self.files)[0])
        return backbone

    def check(self, task):
        """Checks that the weights in the files are finite, and as large as stated.

        Args:
            task: Dict of arguments of a saved model with a head; empty for a backbone.
        """
        check_config_sizes(self.config, self.tensors, self)
        tensors = (
            self._read_weights(self.files.glob("task.weights.h5")) if task else None
        )
        sizes = {spec.class_argument for spec in HEADS.values()}
        sizes.update(["dense_dim"] if task.get("dense_dim") else [])
        for name in sizes & task.keys():
            check_bias(name, task[name], tensors, self)

    def _backbone_arguments(self):
        return read_object(self.files / "config.json")[1]

    def _read_weights(self, files):
        """Checks the tensors of files; returns their `StoredTensors` without values."""
        has_integers = is_quantized(self._backbone_arguments().get("dtype"))
        shapes = {}
        for file in files:
            found = read_keras_weights(file, has_integers).shapes
            shapes |= {f"{file.name}/{path}": shape for path, shape in found.items()}
        return StoredTensors(shapes, read=None)

    @staticmethod
    def write(model, head, folder, tokenizer=None):
        """Writes a preset."""
        model.save_to_preset(str(folder))
        if tokenizer is not None:
            tokenizer.save_to_preset(str(folder))
