"""An S3 server on the loopback interface."""

import contextlib
import logging
import os
from unittest import mock


@contextlib.contextmanager
def serving_s3(bucket):
    """Serves an empty bucket in this context, also to processes started in it."""
    import boto3
    import s3fs
    from moto.moto_server.threaded_moto_server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    # One line a request.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    # It keeps the address of an earlier server.
    s3fs.S3FileSystem.clear_instance_cache()
    try:
        with mock.patch.dict(os.environ, environment):
            boto3.client("s3").create_bucket(Bucket=bucket)
            yield
    finally:
        server.stop()
