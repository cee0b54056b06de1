"""A SavedModel with a name and a version, as in TensorFlow Serving."""

import pathlib

import numpy as np
import tensorflow as tf
from google.protobuf.json_format import MessageToDict
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from albert_keras.checks import import_optional, shortened
from albert_keras.export.saved_model import GRAPH_FILE, call_signature, is_saved_model
from albert_keras.export.signatures import SERVING_SIGNATURE


class ServedModel:
    """A SavedModel loaded for a server.

    Args:
        path: str or path. A SavedModel; or a folder of versions, such as `reviews` with
            `reviews/1`, whose highest version is loaded.

    Attributes:
        name: str. Name of the folder of versions, or of the SavedModel's folder.
        version: str. The version, `"1"` if the folder has none.

    Raises:
        ValueError: If there is no SavedModel.
    """

    def __init__(self, path):
        folder = _newest(pathlib.Path(path).resolve())
        # Registers the tokenizer's operations.
        import_optional("tensorflow_text", "lite")
        is_version = folder.name.isdecimal()
        self.name = folder.parent.name if is_version else folder.name
        self.version = folder.name if is_version else "1"
        self._module = tf.saved_model.load(str(folder))
        self._signatures = self._module.signatures
        content = SavedModel.FromString((folder / GRAPH_FILE).read_bytes())
        definitions = content.meta_graphs[0].signature_def
        # Without that of the initialization, which TensorFlow Serving does not list.
        self.definitions = {name: definitions[name] for name in self._signatures}

    def inputs(self, signature):
        """Returns the `tf.TensorSpec` of each input of a signature, by name.

        Raises:
            ValueError: If there is no such signature.
        """
        if signature not in self._signatures:
            raise ValueError(
                f"The signature must be one of {', '.join(self._signatures)}. Received: "
                f"signature_name={shortened(signature)!r}."
            )
        return self._signatures[signature].structured_input_signature[1]

    def predict(self, inputs, signature=SERVING_SIGNATURE):
        """Returns the NumPy arrays of a signature's outputs, by name.

        Args:
            inputs: Dict of arrays with the signature's names and types.
            signature: str.

        Raises:
            ValueError: If the graph raises an error for the inputs.
        """
        types = {name: spec.dtype for name, spec in self.inputs(signature).items()}
        tensors = {name: tf.constant(x, types[name]) for name, x in inputs.items()}
        outputs = call_signature(self._signatures[signature], tensors)
        return {name: np.asarray(value) for name, value in outputs.items()}

    def metadata(self):
        """Returns the response of TensorFlow Serving's path `/metadata`."""
        fields = ("preserving_proto_field_name", "always_print_fields_with_no_presence")
        options = dict.fromkeys(fields, True)
        definitions = {
            name: MessageToDict(definition, **options)
            for name, definition in self.definitions.items()
        }
        spec = {"name": self.name, "signature_name": "", "version": self.version}
        return {
            "model_spec": spec,
            "metadata": {"signature_def": {"signature_def": definitions}},
        }

    def status(self):
        """Returns the response of TensorFlow Serving's path of a model's status."""
        status = {"error_code": "OK", "error_message": ""}
        available = {"version": self.version, "state": "AVAILABLE", "status": status}
        return {"model_version_status": [available]}


def _newest(path):
    """Returns the SavedModel at `path`, or its highest version."""
    if is_saved_model(path):
        return path
    versions = [
        version
        for version in (path.iterdir() if path.is_dir() else ())
        if version.name.isdecimal() and is_saved_model(version)
    ]
    if not versions:
        raise ValueError(
            "A model to serve must be a SavedModel, or a folder of versions such as "
            f"reviews with reviews/1. Received: '{path}'. Write one with `albert-keras "
            "export RUN --format saved_model --output reviews/1`."
        )
    return max(versions, key=lambda version: int(version.name))
