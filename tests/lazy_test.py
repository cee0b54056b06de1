"""Packages whose modules are imported on first access to a name."""

import ast
import importlib
import pathlib
import sys

import pytest

import albert_keras

ROOT = pathlib.Path(albert_keras.__file__).parent

PACKAGE = '''
"""A shop."""
from typing import TYPE_CHECKING
from albert_keras.lazy import lazy_names
if TYPE_CHECKING:
    from {name}.absent import Nothing
    from math import gcd, sqrt
__getattr__, __dir__, __all__ = lazy_names(__spec__)
'''


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Returns a new package with deferred imports, one of them of an absent module."""
    name = f"shop_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(PACKAGE.format(name=name))
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module(name)
    del sys.modules[name]


def test_names_are_imported_on_access(shop):
    assert shop.sqrt(49) == 7
    assert dir(shop) == ["Nothing", "gcd", "sqrt"]
    with pytest.raises(ModuleNotFoundError, match=r"absent"):
        shop.Nothing  # noqa: B018


def test_other_names_are_attribute_errors(shop):
    with pytest.raises(AttributeError, match="'shop_.*' has no attribute 'cos'"):
        shop.cos  # noqa: B018


def lazy_packages():
    return [
        path
        for path in sorted(ROOT.rglob("__init__.py"))
        if "lazy_names(" in path.read_text("utf-8")
    ]


@pytest.mark.parametrize("path", lazy_packages(), ids=lambda path: path.parent.name)
def test_editors_and_python_see_the_same_names(path):
    name = ".".join(path.relative_to(ROOT.parent).parent.parts)
    package = importlib.import_module(name)
    # What a type checker sees: it takes the branch of `TYPE_CHECKING`.
    seen = {
        alias.asname or alias.name: statement.module
        for block in ast.parse(path.read_text("utf-8")).body
        if isinstance(block, ast.If)
        for statement in block.body
        for alias in statement.names
    }
    assert set(seen) == set(dir(package)) == set(package.__all__)
    for public_name, module in seen.items():
        expected = getattr(importlib.import_module(module), public_name)
        assert getattr(package, public_name) is expected
