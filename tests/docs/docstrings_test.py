"""Fenced examples of docstrings, which need runs and files of a user, against the API.

Examples after `>>>` are executed by pytest itself.
"""

import ast
import functools
import inspect
import pathlib
import textwrap

import pytest

import albert_keras as ak
from tests import snippets

PACKAGE = pathlib.Path(ak.__file__).parent
FILES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if "```python" in path.read_text("utf-8")
]


def nodes_of(path):
    """Yields the syntax nodes of all fenced examples in a module's docstrings."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = textwrap.dedent(ast.get_docstring(node) or "")
            for block in snippets.BLOCK.finditer(text):
                if block["language"] == "python":
                    yield from ast.walk(ast.parse(block["code"]))


def public_object(expression):
    """Returns what `ak.name` or `ak.name.method` means; `None` for another expression."""
    names = ast.unparse(expression).split(".")
    if names[0] != "ak" or not all(map(str.isidentifier, names)):
        return None
    return functools.reduce(getattr, names[1:], ak)


def check_call(call):
    """Checks the arguments of a call of the public API; returns whether it is one."""
    function = public_object(call.func)
    spread = [*call.args, *(keyword.arg or ast.Starred() for keyword in call.keywords)]
    if function is None or any(isinstance(value, ast.Starred) for value in spread):
        return False
    keywords = dict.fromkeys(keyword.arg for keyword in call.keywords)
    inspect.signature(function).bind(*call.args, **keywords)
    return True


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_examples_compile_and_name_what_there_is(path):
    nodes = [*nodes_of(path)]
    assert nodes
    for node in nodes:
        if isinstance(node, ast.Attribute):
            public_object(node)


def test_calls_pass_arguments_that_are_taken():
    nodes = [node for path in FILES for node in nodes_of(path)]
    calls = [check_call(node) for node in nodes if isinstance(node, ast.Call)]
    assert sum(calls) > 40
