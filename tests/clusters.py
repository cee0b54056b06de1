"""Environments of the workers of a cluster on the loopback interface."""

import socket


def worker_environments(num_workers):
    """Returns the environment variables of each process of JAX, on free ports."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return [
        {
            "KERAS_BACKEND": "jax",
            "KERAS_DISTRIBUTION_JOB_ADDRESSES": f"127.0.0.1:{port}",
            "KERAS_DISTRIBUTION_NUM_PROCESSES": str(num_workers),
            "KERAS_DISTRIBUTION_PROCESS_ID": str(worker),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        for worker in range(num_workers)
    ]
