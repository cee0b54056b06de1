"""The command line: a module for each command."""

import argparse
import contextlib
import difflib
import gc
import importlib
import logging
import os
import pathlib
import re
import signal
import sys
import warnings

from albert_keras.cli.errors import describe_error, one_line
from albert_keras.presets.transfer import offline
from albert_keras.version import __version__

# In the order of use.
COMMANDS = {
    "quickstart": "run all steps on the embedded sample, offline",
    "train-vocabulary": "train a SentencePiece vocabulary from text files",
    "prepare-data": "convert text files to a token store, or to TFRecords",
    "pretrain": "pretrain a model on prepared data or text",
    "finetune": "train a checkpoint for a task on labeled text",
    "calibrate": "choose the exit rule of a model with exits",
    "evaluate": "evaluate a model on prepared data or labeled text",
    "predict": "predict labels, tags, answers or masked words",
    "embed": "write the vectors of the texts in a file",
    "convert": "convert weights from one library to another",
    "distill": "train a student with fewer layers of a trained model",
    "export": "write a run as SavedModel, for a server, as TFLite or ONNX",
    "serve": "serve an exported model on this machine, for development",
    "analyze": "analyze a model size, the layers of models, or several runs",
}

_PACKAGE = pathlib.Path(__file__).resolve().parents[1]

REMEDIES = (
    "https://github.com/albert-keras/albert_keras/blob/main/docs/guides/"
    "troubleshooting.md"
)

# argparse's message.
_INVALID_CHOICE = re.compile(
    r"(?P<received>invalid choice: '(?P<word>[^']*)') \(choose from (?P<known>.*)\)"
)

# Commands that can be resumed.
RESUMED = (["prepare-data"], ["pretrain"], ["finetune"], ["distill"], ["embed"])


def main(argv=None):
    """Runs a command, by default that of the process, and returns its exit status.

    The status is 0 on success, 1 after an error, with one line on standard error, 2 on
    wrong usage (by `SystemExit`, as from argparse), and 130 after Ctrl-C, as in shells.
    """
    is_whole_process = argv is None
    argv = sys.argv[1:] if is_whole_process else list(argv)
    if is_whole_process:
        # Imported and traced objects stay. With the default threshold, garbage collection
        # takes a quarter of the time of the imports.
        gc.set_threshold(100_000)
    # Shell commands inherit a notebook's own backend, which may not be installed.
    if os.environ.get("MPLBACKEND", "").startswith("module://"):
        os.environ["MPLBACKEND"] = "agg"
    with warnings.catch_warnings(), contextlib.ExitStack() as stack:
        warnings.showwarning = _show_warning
        try:
            arguments = parse(argv)
            if arguments.verbose:
                return _run(arguments, argv)
            warnings.showwarning = _show_own_warning
            if is_whole_process and sys.stderr is sys.__stderr__ is not None:
                _hide_native_lines()
            stack.callback(logging.disable, logging.root.manager.disable)
            logging.disable(logging.WARNING)
            return _run(arguments, argv)
        except KeyboardInterrupt:
            hint = ": the same command resumes it" if argv[:1] in RESUMED else ""
            print(f"albert-keras: interrupted{hint}", file=sys.stderr)
            return 128 + signal.SIGINT


def _run(arguments, words):
    try:
        with offline() if arguments.offline else contextlib.nullcontext():
            arguments.run_command(arguments)
    except Exception as error:
        if _is_of_interruption(error):
            raise KeyboardInterrupt from error
        if arguments.traceback:
            raise
        print(f"albert-keras: error: {describe_error(error, words)}", file=sys.stderr)
        return 1
    return 0


def _is_of_interruption(error):
    """Returns whether a library raised an error during its clean-up after Ctrl-C."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def parse(argv):
    """Parses a command's arguments; its function is `run_command`."""
    parser, called = make_parsers(argv[:1])
    for word in argv:
        if any("\ud800" <= character <= "\udfff" for character in word):
            called.error(f"arguments must be text in UTF-8: {word}")
    arguments, unknown = parser.parse_known_args(argv)
    are_words = all(word == "-" or word[:1] != "-" for word in unknown)
    if are_words and getattr(arguments, "texts", None) == []:
        # argparse finds the texts of `predict` only before the options.
        arguments.texts, unknown = unknown, []
    if unknown:
        called.refuse(unknown)
    for name, value in vars(arguments).items():
        if value == "":
            # An empty path would be the current folder.
            called.error(f"`{name}` must not be empty")
    return arguments


def make_parsers(words):
    """Returns the parser of all commands, and the parser of the command in `words`.

    Only this command has options, because only its module is imported.
    """
    parser = Parser(
        prog="albert-keras",
        description="ALBERT in Keras: pretrain, fine-tune, export, predict.",
        epilog=f"errors and their remedies: {REMEDIES}",
    )
    parser.add_argument("--version", action="version", version=__version__)
    called = parser
    commands = parser.add_subparsers(metavar="command", required=True)
    for name, summary in COMMANDS.items():
        module_name = f"albert_keras.cli.{name.replace('-', '_')}"
        command = commands.add_parser(name, help=summary)
        if name in words:
            called = command
            module = importlib.import_module(module_name)
            command.usage = f"albert-keras {name} {module.USAGE}"
            command.description = module.__doc__
            module.add_arguments(command)
            _add_common_options(command)
            command.set_defaults(run_command=module.run)
    return parser, called


class Parser(argparse.ArgumentParser):
    """Parser that takes no shortened options, and prints no usage before an error.

    A shortened option that is unique may become ambiguous with a new option.
    """

    def __init__(self, *args, **options):
        formatter = argparse.RawDescriptionHelpFormatter
        super().__init__(
            *args, allow_abbrev=False, formatter_class=formatter, **options
        )

    def error(self, message):
        if choices := _INVALID_CHOICE.search(message):
            known = re.findall(r"[\w.-]+", choices["known"])
            hint = _like([choices["word"]], known)
            message = message.replace(choices["received"], choices["received"] + hint)
        line = one_line(f"{self.prog}: error: {message}")
        self.exit(2, f"{line}\nTry: {self.prog} --help\n")

    def refuse(self, unknown):
        """Ends with status 2, and names the options most like the unknown arguments."""
        options = [word.partition("=")[0] for word in unknown if word.startswith("--")]
        known = set(re.findall(r"--[\w-]+", self.format_help()))
        hint = _like(options, known)
        self.error(f"unknown arguments: {' '.join(unknown)}{hint}")


def _like(words, known):
    """Returns ` (like NAME?)` with the known names most like the words, or `""`."""
    close = [m for word in words for m in difflib.get_close_matches(word, known, n=1)]
    return f" (like {', '.join(close)}?)" if close else ""


def _add_common_options(command):
    group = command.add_argument_group("output")
    for flag, about in (
        ("--json", "print the results as one JSON object on standard output"),
        ("--traceback", "show the traceback of an error, for a bug report"),
        ("--verbose", "also show messages of TensorFlow and other libraries"),
        ("--offline", "use only checkpoints and tokenizers in the cache"),
    ):
        group.add_argument(flag, action="store_true", help=about)


def _show_warning(message, *origin, **options):
    """Prints a warning without its line of code."""
    print(f"albert-keras: warning: {one_line(str(message))}", file=sys.stderr)


def _show_own_warning(message, category, filename, *origin, **options):
    if _PACKAGE in pathlib.Path(filename).parents:
        _show_warning(message)


def _hide_native_lines():
    """Hides what C++ code prints to standard error until the process ends.

    Python prints to a copy. TensorFlow prints lines while it is imported, whatever
    `TF_CPP_MIN_LOG_LEVEL` is.
    """
    copy = os.dup(2)
    sys.stderr = os.fdopen(copy, "w", 1, encoding="utf-8", errors="backslashreplace")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
