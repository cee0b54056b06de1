"""Sends the request of a REST request file to TensorFlow Serving by gRPC.

python request_grpc.py NAME NAME.request.json [HOST:PORT]

Needs `pip install tensorflow-serving-api`.
"""

import json
import sys

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc


def main(name, file, address="localhost:8500"):
    """Prints each output in a line."""
    with open(file, encoding="utf-8") as content:
        inputs = json.load(content)["inputs"]
    tensors = {key: tf.make_tensor_proto(value) for key, value in inputs.items()}
    request = predict_pb2.PredictRequest(model_spec={"name": name}, inputs=tensors)
    with grpc.insecure_channel(address) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        outputs = stub.Predict(request, timeout=30).outputs
    for key, value in sorted(outputs.items()):
        print(key, tf.make_ndarray(value).tolist())


if __name__ == "__main__":
    main(*sys.argv[1:])
