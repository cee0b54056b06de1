"""Code blocks of the README and the documentation, and their execution on small data."""

import contextlib
import io
import pathlib
import re
import shlex
from typing import NamedTuple

from albert_keras import cli, sample

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
    code = re.sub(r"\\\n", " ", code)
    for line in code.splitlines():
        words = shlex.split(line, comments=True)
        if "albert-keras" in words:
            # Before it there may be variables of the environment.
            yield words[words.index("albert-keras") + 1 :]


def write_sample_files(folder):
    """Writes the files that the pages speak of: a corpus, and tables of reviews."""
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")
    (folder / "corpus.txt").write_text("\n\n".join(documents[:60]), "utf-8")
    for name, source in (
        ("reviews.tsv", sample.REVIEWS_TRAIN),
        ("more.tsv", sample.REVIEWS_TEST),
    ):
        rows = source.read_text("utf-8").splitlines()[: NUM_ROWS + 1]
        (folder / name).write_text("\n".join(rows) + "\n", "utf-8")


def execute(path, folder, selects=None):
    """Executes the blocks of a page in their order, in a folder with small files.

    Python blocks share their variables. Of shell blocks the commands of this package are
    run, in this process. Blocks with a title are files. `selects` is a function of a
    `Block`, or `None` for all. Returns the number of executed Python blocks and commands.
    """
    write_sample_files(folder)
    variables, num_executed = {"__name__": "__main__"}, 0
    with contextlib.chdir(folder):
        for block in blocks_of(path):
            if block.title:
                pathlib.Path(block.title).write_text(block.code, "utf-8")
            elif block.reason or not (selects is None or selects(block)):
                continue
            elif block.language == "python":
                # Errors name the line of the page.
                code = "\n" * (block.line - 1) + block.code
                exec(compile(code, path, "exec"), variables)
                num_executed += 1
            elif block.language == "bash":
                for words in commands_of(block.code):
                    run_command(words)
                    num_executed += 1
    return num_executed


def run_command(words):
    """Runs a command of this package in this process; its failure is an error."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        status = cli.main(words)
    assert status == 0, f"{shlex.join(words)}\n{errors.getvalue()}"
