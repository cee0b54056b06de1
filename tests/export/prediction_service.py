"""TensorFlow Serving's PredictionService on its real protos, for one `ServedModel`.

The server itself is in no package index. This one answers what the graph answers.
"""

import concurrent.futures
import contextlib

import grpc
import tensorflow as tf
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    predict_pb2,
    prediction_service_pb2_grpc,
)


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict and GetModelMetadata; errors of the graph are INVALID_ARGUMENT."""

    def __init__(self, model):
        self.model = model

    def Predict(self, request, context):  # noqa: N802
        self._check_name(request, context)
        inputs = {name: tf.make_ndarray(x) for name, x in request.inputs.items()}
        signature = request.model_spec.signature_name or "serving_default"
        try:
            outputs = self.model.predict(inputs, signature)
        except (ValueError, TypeError, KeyError) as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        response = predict_pb2.PredictResponse()
        for name, value in outputs.items():
            response.outputs[name].CopyFrom(tf.make_tensor_proto(value))
        return response

    def GetModelMetadata(self, request, context):  # noqa: N802
        self._check_name(request, context)
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        signatures = get_model_metadata_pb2.SignatureDefMap()
        for name, definition in self.model.definitions.items():
            signatures.signature_def[name].CopyFrom(definition)
        response.metadata["signature_def"].Pack(signatures)
        return response

    def _check_name(self, request, context):
        if request.model_spec.name != self.model.name:
            message = f"Servable not found: {request.model_spec.name}"
            context.abort(grpc.StatusCode.NOT_FOUND, message)


@contextlib.contextmanager
def prediction_server(model):
    """Yields the address of a server of a model on the loopback interface."""
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        PredictionService(model), server
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()
