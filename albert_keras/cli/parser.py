"""Argument parser with errors of one line and a hint."""

import argparse
import difflib
import re

from albert_keras.cli.errors import one_line

# argparse's message.
_INVALID_CHOICE = re.compile(
    r"(?P<received>invalid choice: '(?P<word>[^']*)') \(choose from (?P<known>.*)\)"
)


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
