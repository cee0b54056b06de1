"""Environments of the workers of a cluster on the loopback interface."""

import contextlib
import json
import socket


def worker_environments(strategy, num_workers):
    """Returns the environment variables of each worker of a strategy, on free ports."""
    addresses = [f"127.0.0.1:{port}" for port in _free_ports(num_workers)]
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3"}
    if strategy == "data_parallel":
        return [
            {
                "KERAS_BACKEND": "jax",
                "KERAS_DISTRIBUTION_JOB_ADDRESSES": addresses[0],
                "KERAS_DISTRIBUTION_NUM_PROCESSES": str(num_workers),
                "KERAS_DISTRIBUTION_PROCESS_ID": str(worker),
                **quiet,
            }
            for worker in range(num_workers)
        ]
    return [
        {"TF_CONFIG": tf_config(addresses, worker), **quiet}
        for worker in range(num_workers)
    ]


def tf_config(addresses, worker):
    task = {"type": "worker", "index": worker}
    return json.dumps({"cluster": {"worker": addresses}, "task": task})


def _free_ports(count):
    with contextlib.ExitStack() as stack:
        # All stay bound until the last one is chosen, so that they differ.
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
