"""Messages on the page of troubleshooting are those of the package."""

import ast
import pathlib
import re

import albert_keras
from tools.figures import DOCS

PACKAGE = pathlib.Path(albert_keras.__file__).parent


def messages():
    """Returns all texts of the package's code, with `...` for what varies."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [getattr(part, "value", None) for part in node.values]
                found.append("".join(p if isinstance(p, str) else "..." for p in parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


def test_quoted_messages_are_in_the_code():
    page = (DOCS / "guides" / "troubleshooting.md").read_text("utf-8")
    quoted = re.findall(r"`([^`]+)`", "".join(re.findall(r"^> .+\n", page, re.M)))
    assert len(quoted) > 15
    known = messages()
    pieces = [piece.strip() for text in quoted for piece in text.split("...")]
    assert [piece for piece in pieces if piece not in known] == []
