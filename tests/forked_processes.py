"""Processes forked from one that has imported the modules of the commands.

A fork takes a tenth of a second, where the import of TensorFlow takes five. The process
that is forked, the server, runs no operation itself, whose threads a fork would not have.
There is one for each backend of Keras, which reads its name when it is imported. The
workers of pytest-xdist share those that the process with the workers has started.
"""

import atexit
import contextlib
import functools
import importlib.util
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from multiprocessing import forkserver
from unittest import mock

from albert_keras import cli

START_METHOD = "forkserver"
_FORKS = multiprocessing.get_context(START_METHOD)
_ADDRESS = "ADDRESS_OF_THE_SERVER_ON_{}"


def share_servers(backends):
    """Starts the servers of backends for this process and those that it starts."""
    for backend in backends:
        if importlib.util.find_spec(backend):
            address = _server(backend)._forkserver_address
            os.environ[_ADDRESS.format(backend)] = address


@contextlib.contextmanager
def forked_processes():
    """Yields a function that starts a `ForkedProcess`; all are killed at the end."""
    processes = []

    def start(*arguments, **options):
        processes.append(ForkedProcess(*arguments, **options))
        return processes[-1]

    try:
        yield start
    finally:
        for process in processes:
            process.end()


class ForkedProcess:
    """A call of a function in a new process, with methods of `subprocess.Popen`.

    Args:
        function: function of a module. What it returns is the exit status.
        *arguments: str or path. Its arguments.
        num_devices: int. Logical devices of TensorFlow.
        **environment: str. Added to the environment of this process. `KERAS_BACKEND` may
            be "jax".
    """

    def __init__(self, function, *arguments, num_devices=1, **environment):
        self._output, self._errors = (_text_file() for _ in range(2))
        paths = self._output.name, self._errors.name
        call = function, arguments, num_devices, environment, paths
        self._process = _FORKS.Process(target=_run, args=call)
        with _forked_from(environment.get("KERAS_BACKEND", "tensorflow")):
            self._process.start()
        self.pid = self._process.pid
        self.kill, self.terminate = self._process.kill, self._process.terminate

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout=None):
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(str(self._process), timeout)
        return self.returncode

    def communicate(self, timeout=None):
        self.wait(timeout)
        return self._output.read(), self._errors.read()

    def errors_so_far(self):
        """Returns what the process has written to standard error."""
        with open(self._errors.name, encoding="utf-8") as file:
            return file.read()

    def end(self):
        """Kills the process if it is still running."""
        self.kill()
        self.wait()
        self._output.close()
        self._errors.close()


def run_command(*words):
    """Is the whole process of a command."""
    sys.argv = ["albert-keras", *map(str, words)]
    return cli.main()


def _run(function, arguments, num_devices, environment, paths):
    os.setsid()
    os.environ.update(environment)
    if num_devices > 1:
        # Before the command, which keeps back what TensorFlow says of missing devices.
        _divide_processor(num_devices)
    for descriptor, path in enumerate(paths, 1):
        os.dup2(os.open(path, os.O_WRONLY), descriptor)
    sys.exit(function(*arguments))


class _SharedServer(forkserver.ForkServer):
    """A server that another process has started and keeps running."""

    def __init__(self, address):
        super().__init__()
        self._forkserver_address = address
        _, self._forkserver_alive_fd = os.pipe()

    def ensure_running(self):
        pass


@functools.cache
def _server(backend):
    """Returns the server of a backend, which runs."""
    if address := os.environ.get(_ADDRESS.format(backend)):
        return _SharedServer(address)
    environment = {"KERAS_BACKEND": backend}
    if backend == "jax":
        # JAX compiles a program once for all these processes.
        compiled = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, compiled)
        environment["JAX_COMPILATION_CACHE_DIR"] = compiled
        environment["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    server = forkserver.ForkServer()
    server.set_forkserver_preload(["tests.warm_process"])
    with mock.patch.dict(os.environ, environment):
        server.ensure_running()
    return server


def _forked_from(backend):
    """Context in which new processes are forked from the server of a backend."""
    connect = _server(backend).connect_to_new_process
    return mock.patch.object(forkserver, "connect_to_new_process", connect)


# Pools of workers, which are started without that context.
forkserver.connect_to_new_process = lambda descriptors: _server(
    "tensorflow"
).connect_to_new_process(descriptors)


def _text_file():
    return tempfile.NamedTemporaryFile("r", encoding="utf-8")


def _divide_processor(num_devices):
    import tensorflow as tf

    (processor,) = tf.config.list_physical_devices("CPU")
    devices = [tf.config.LogicalDeviceConfiguration()] * num_devices
    tf.config.set_logical_device_configuration(processor, devices)
