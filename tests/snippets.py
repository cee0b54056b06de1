"""Code blocks of the README and the documentation, and their execution on small data."""

import contextlib
import csv
import io
import os
import pathlib
import re
import shlex
import subprocess
from typing import NamedTuple

from albert_keras import cli, sample
from tests.forked_processes import forked_processes

ROOT = pathlib.Path(__file__).resolve().parents[1]
# A comment directly before a block says why it is not executed.
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+) -->\n)?"
    r"^```(?P<language>\w+)?(?: title=\"(?P<title>[^\"]+)\")?\n(?P<code>.*?)^```$",
    re.M | re.S,
)
NUM_ROWS = 16


class Block(NamedTuple):
    """A code block of a page."""

    language: str | None
    code: str
    reason: str | None  # why it is not executed
    title: str | None  # of a file that the page shows
    line: int


def blocks_of(path):
    """Returns the `Block`s of a Markdown file."""
    text = path.read_text("utf-8")
    return [
        Block(
            *(match[name] for name in ("language", "code", "reason", "title")),
            text.count("\n", 0, match.start("code")) + 1,
        )
        for match in BLOCK.finditer(text)
    ]


def commands_of(code):
    """Yields the words of each `albert-keras` command of a shell block."""
    for program, *words in _lines_of(code):
        if program == "albert-keras":
            yield words


def _lines_of(code):
    """Yields the words of each command of a shell block, the program first."""
    for line in re.sub(r"\\\n", " ", code).splitlines():
        words = shlex.split(line, comments=True)
        # Variables of the environment.
        while words and re.match(r"\w+=", words[0]):
            words.pop(0)
        if words:
            yield words


def write_sample_files(folder):
    """Writes the files that the pages speak of: a corpus, and tables of reviews."""
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")
    (folder / "corpus.txt").write_text("\n\n".join(documents[:40]), "utf-8")
    for name, source in (
        ("reviews.tsv", sample.REVIEWS_TRAIN),
        ("more.tsv", sample.REVIEWS_TEST),
    ):
        rows = source.read_text("utf-8").splitlines()[: NUM_ROWS + 1]
        (folder / name).write_text("\n".join(rows) + "\n", "utf-8")
    rows = (folder / "reviews.tsv").read_text("utf-8").splitlines()[1:]
    with (folder / "reviews.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [["review", "stars"], *(r.split("\t") for r in rows)]
        )


def execute(path, folder):
    """Executes the blocks of a page in their order, in a folder with small files.

    Python blocks share their variables. Of shell blocks the commands of this package are
    run, in this process, and requests by `curl`. Blocks with a title are files. Returns
    the number of executed Python blocks and commands.
    """
    write_sample_files(folder)
    variables, num_executed = {"__name__": "__main__"}, 0
    with contextlib.chdir(folder):
        for block in blocks_of(path):
            if block.title:
                pathlib.Path(block.title).write_text(block.code, "utf-8")
            elif block.reason:
                continue
            elif block.language == "python":
                # Errors name the line of the page.
                code = "\n" * (block.line - 1) + block.code
                exec(compile(code, path, "exec"), variables)
                num_executed += 1
            elif block.language == "bash":
                num_executed += _run_shell_block(block.code)
    return num_executed


def _run_shell_block(code):
    """Runs the commands of a shell block; returns their number.

    A server runs until the last one has ended.
    """
    num_run = 0
    with forked_processes() as start:
        for program, *words in _lines_of(code):
            if program == "curl":
                # Until the server listens.
                retries = "--retry 99 --retry-connrefused --retry-delay 1".split()
                request = ["curl", "--fail", "--silent", *retries, *words]
                subprocess.run(request, check=True, capture_output=True)
            elif program != "albert-keras":
                continue
            elif words[0] == "serve":
                start(_run_in, os.getcwd(), *words)
            else:
                run_command(words)
            num_run += 1
    return num_run


def _run_in(folder, *words):
    """Is the whole process of a command in a folder."""
    os.chdir(folder)
    return cli.main(list(words))


def run_command(words):
    """Runs a command of this package in this process; its failure is an error."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        status = cli.main(words)
    assert status == 0, f"{shlex.join(words)}\n{errors.getvalue()}"
