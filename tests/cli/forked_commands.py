"""Commands in processes of their own, forked from one that has imported their modules.

A fork takes a tenth of a second, where the import of TensorFlow takes five. That process
itself runs no operation, whose threads a fork would not have.
"""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile

from albert_keras import cli


@contextlib.contextmanager
def forked_commands():
    """Yields a function that runs a command, with variables of its environment.

    It returns exit status, standard output and standard error.
    """
    environment = {k: v for k, v in os.environ.items() if k not in cli.ENVIRONMENT}
    with subprocess.Popen(
        [sys.executable, "-m", __name__],
        text=True,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:

        def run(*words, num_devices=1, **environment):
            request = [[*map(str, words)], num_devices, environment]
            print(json.dumps(request), file=server.stdin, flush=True)
            return json.loads(server.stdout.readline())

        yield run
        server.stdin.close()


def serve():
    """Answers each request, a line on standard input."""
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(sys.stderr):
        # The environment of the commands.
        cli.main(["--version"])
    for name in (
        *("export.tflite", "runs.finetuning", "runs.inference", "runs.pretraining"),
        *("cli.convert", "cli.export", "cli.train_vocabulary"),
    ):
        importlib.import_module(f"albert_keras.{name}")
    for line in sys.stdin:
        with _text_file() as output, _text_file() as errors:
            child = os.fork()
            if not child:
                _run(*json.loads(line), output, errors)
            _, status = os.waitpid(child, 0)
            texts = [_content_of(file) for file in (output, errors)]
        print(json.dumps([os.waitstatus_to_exitcode(status), *texts]), flush=True)


def _run(words, num_devices, environment, output, errors):
    status = 1
    try:
        os.environ.update(environment)
        if num_devices > 1:
            _divide_processor(num_devices)
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(output.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        sys.argv = ["albert-keras", *words]
        status = cli.main()
        sys.stdout.flush()
    finally:
        os._exit(status)


def _text_file():
    return tempfile.TemporaryFile("w+", encoding="utf-8")


def _content_of(file):
    file.seek(0)
    return file.read()


def _divide_processor(num_devices):
    import tensorflow as tf

    (processor,) = tf.config.list_physical_devices("CPU")
    devices = [tf.config.LogicalDeviceConfiguration()] * num_devices
    tf.config.set_logical_device_configuration(processor, devices)


if __name__ == "__main__":
    serve()
