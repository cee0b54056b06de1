"""Fenced examples of docstrings: they are executed, and checked against the API.

Examples after `>>>` are executed by pytest itself.
"""

import ast
import asyncio
import contextlib
import functools
import importlib
import inspect
import json
import pathlib
import textwrap
import types
from typing import NamedTuple

import pytest
import sklearn.metrics

import albert_keras as ak
from tests import snippets
from tests.docs import example_data

PACKAGE = pathlib.Path(ak.__file__).parent
# Objects whose example takes long or an address, and the tests that do the same.
RUN_ELSEWHERE = {
    "PretrainingRun": "runs/pretraining_test.py",
    "local_files": "hub_test.py",
}


class Example(NamedTuple):
    """A fenced example."""

    module: str
    name: str  # of the function or class
    code: str

    @property
    def tree(self):
        return ast.parse(self.code)


def examples():
    """Yields the `Example`s of all docstrings."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = textwrap.dedent(ast.get_docstring(node) or "")
                for block in snippets.BLOCK.finditer(text):
                    if block["language"] == "python":
                        yield Example(module, getattr(node, "name", ""), block["code"])


EXAMPLES = [*examples()]


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


def variables_of(example):
    """Returns the variables of an example, and makes the files that it speaks of."""
    module = vars(importlib.import_module(example.module))
    variables = {**module, "ak": ak, "json": json, "pathlib": pathlib}
    variables["sklearn"] = sklearn
    for node in ast.walk(example.tree):
        if isinstance(node, ast.Constant) and node.value in example_data.FILES:
            example_data.use(node.value)
        elif isinstance(node, ast.Name) and node.id in example_data.OBJECTS:
            variables[node.id] = example_data.make(node.id)
    return variables


def test_calls_pass_arguments_that_are_taken():
    nodes = [node for example in EXAMPLES for node in ast.walk(example.tree)]
    calls = [check_call(node) for node in nodes if isinstance(node, ast.Call)]
    assert sum(calls) > 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for all examples, whose files are made once."""
    return tmp_path_factory.mktemp("examples")


@pytest.mark.slow
@pytest.mark.parametrize(
    "example",
    [example for example in EXAMPLES if example.name not in RUN_ELSEWHERE],
    ids=lambda example: f"{example.module}.{example.name}",
)
def test_examples_run(example, folder):
    with contextlib.chdir(folder):
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(example.code, example.module, "exec", flags)
        outcome = types.FunctionType(code, variables_of(example))()
        if inspect.iscoroutine(outcome):
            asyncio.run(outcome)
