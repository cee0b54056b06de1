"""Enforces the import rules, the test layout, docstrings and portable paths."""

import ast
import graphlib
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "albert_keras"
MODULES = sorted(PACKAGE.rglob("*.py"))

# A part may import itself, `checks`, `files`, `lazy` and the parts named here.
MAY_IMPORT = {
    "version": set(),
    "checks": set(),
    "files": set(),
    "lazy": set(),
    "sample": set(),
    "shipped": set(),
    "config": set(),
    "tokenizers": {"shipped"},
    "text": {"tokenizers"},
    "optimizers": set(),
    "train_step": set(),
    "layers": {"config"},
    "models": {
        "config",
        "layers",
        "optimizers",
        "shipped",
        "tokenizers",
        "train_step",
    },
    "training": {"optimizers", "train_step"},
    "converters": {"config", "models", "shipped", "tokenizers"},
    "tasks": {"models", "text", "tokenizers", "train_step"},
    "pretraining": {
        "models",
        "optimizers",
        "tasks",
        "text",
        "tokenizers",
        "train_step",
    },
    "export": {"models", "text", "tokenizers"},
    "analysis": {"config", "models", "pretraining", "tasks", "training"},
}
for user_interface in ("runs", "cli", "__init__", "__main__"):
    MAY_IMPORT[user_interface] = set(MAY_IMPORT)
MODEL_SIDE = ("config", "layers", "models", "optimizers", "analysis", "converters")


def part_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(path, top_level_only=False):
    tree = ast.parse(path.read_text("utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def name_of(path):
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_keep_to_the_table(path):
    part = part_of(path)
    imported = {
        name.split(".")[1]
        for name in imported_modules(path)
        if name.startswith("albert_keras.")
    }
    assert imported <= MAY_IMPORT[part] | {part, "checks", "files", "lazy"}


def test_no_two_parts_import_each_other():
    sorter = graphlib.TopologicalSorter(MAY_IMPORT)
    sorter.prepare()  # Raises CycleError.


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_model_side_imports_no_tensorflow(path):
    if part_of(path) in MODEL_SIDE:
        names = {n.split(".")[0] for n in imported_modules(path, top_level_only=True)}
        assert not names & {"tensorflow", "tensorflow_text"}


def test_every_module_has_its_test():
    missing = []
    for path in MODULES:
        relative = path.relative_to(PACKAGE)
        mirrored = ROOT / "tests" / relative.parent / f"{path.stem}_test.py"
        # An `__init__` is a list of names, and the command modules are run as a user
        # runs them, in cli/commands_test.py.
        exempt = path.stem in ("__init__", "__main__", "version")
        if not exempt and relative.parts[0] != "cli" and not mirrored.is_file():
            missing.append(str(mirrored.relative_to(ROOT)))
    assert missing == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_public_things_say_what_they_do(path):
    tree = ast.parse(path.read_text("utf-8"))
    assert ast.get_docstring(tree), "module docstring"
    if part_of(path) == "cli":
        return
    kinds = (ast.FunctionDef, ast.ClassDef)
    for node in tree.body:
        if isinstance(node, kinds) and not node.name.startswith("_"):
            assert ast.get_docstring(node), node.name


def test_no_path_of_a_machine_and_no_utils():
    files = [*MODULES, *ROOT.glob("*.md"), *(ROOT / "tests").rglob("*.py")]
    for path in files:
        assert path.stem != "utils"
        assert not re.search(r"[\"' (]/(home|root|work)/", path.read_text("utf-8")), (
            path
        )
