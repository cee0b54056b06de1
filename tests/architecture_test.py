"""Enforces the import rules, the test layout, docstrings and portable paths."""

import ast
import graphlib
import pathlib
import re

import pytest

from tools.code_size import find_cycle

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "albert_keras"
MODULES = sorted(PACKAGE.rglob("*.py"))

# A part may import itself, `checks`, `keras_internals`, `system` and the parts named.
MAY_IMPORT = {
    "version": set(),
    "checks": set(),
    "keras_internals": set(),
    "options": set(),
    "sample": set(),
    "system": set(),
    "config": {"options"},
    "presets": {"config"},
    "tokenizers": {"presets"},
    "text": {"tokenizers"},
    "optimizers": set(),
    "train_step": set(),
    "layers": {"config"},
    "preprocessors": {"presets", "text", "tokenizers"},
    "models": {
        *("config", "layers", "optimizers", "preprocessors", "presets", "text"),
        *("tokenizers", "train_step"),
    },
    "training": {"optimizers", "train_step"},
    "converters": {"analysis", "config", "models", "presets", "tokenizers"},
    "tasks": {
        *("config", "models", "options", "preprocessors", "presets", "text"),
        *("tokenizers", "train_step"),
    },
    "pretraining": {
        *("models", "optimizers", "options", "tasks", "text", "tokenizers"),
        "train_step",
    },
    "compression": {"config", "layers", "models", "tasks", "train_step", "training"},
    "export": {
        *("compression", "converters", "models", "preprocessors", "presets", "sample"),
        *("tasks", "text", "tokenizers", "train_step"),
    },
    "serving": {"export", "options"},
    "analysis": {"config", "pretraining", "train_step", "training"},
}
for user_interface in ("runs", "cli", "__init__", "__main__"):
    MAY_IMPORT[user_interface] = set(MAY_IMPORT)
MODEL_SIDE = (
    *("config", "layers", "models", "optimizers", "train_step"),
    *("analysis", "compression", "converters"),
)
# The only files of the model side that import TensorFlow: inside functions that other
# backends do not call,
USES_TENSORFLOW = {"converters/tensorflow_file.py"}
# or as a whole, if they are imported only on TensorFlow.
IS_TENSORFLOW = {
    *("compression/tensorflow_exits.py", "layers/tensorflow_kernels.py"),
    *("train_step/clipping.py", "train_step/tensorflow_step.py"),
}


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
    # An import inside a function counts as one at the top.
    imported = {
        name.split(".")[1]
        for name in imported_modules(path)
        if name.startswith("albert_keras.")
    }
    part = part_of(path)
    allowed = MAY_IMPORT[part] | {part, "checks", "keras_internals", "system"}
    assert imported <= allowed


def test_no_two_parts_import_each_other():
    sorter = graphlib.TopologicalSorter(MAY_IMPORT)
    sorter.prepare()  # Raises CycleError.


def test_no_two_modules_import_each_other():
    assert find_cycle(PACKAGE) == []


@pytest.mark.parametrize("top_level_only", [False, True], ids=["anywhere", "on import"])
def test_few_files_of_the_model_side_import_tensorflow(top_level_only):
    found = {
        name_of(path)
        for path in MODULES
        if part_of(path) in MODEL_SIDE
        and any(
            module.split(".")[0] in ("tensorflow", "tensorflow_text")
            for module in imported_modules(path, top_level_only)
        )
    }
    allowed = IS_TENSORFLOW if top_level_only else IS_TENSORFLOW | USES_TENSORFLOW
    assert found <= allowed


def test_every_module_has_its_tests():
    """In a file of the module's name, or in other files of its folder."""
    missing = []
    for path in MODULES:
        relative = path.relative_to(PACKAGE)
        # An `__init__` is a list of names. Those of the top have a file each.
        if path.stem not in ("__init__", "__main__", "version"):
            name = f"{path.stem}_test.py" if len(relative.parts) == 1 else "*_test.py"
            # Files for users of an exported model: export/serving_test.py runs them.
            folder = ROOT / "tests" / str(relative.parent).removesuffix("serving_files")
            if not any(folder.glob(name)):
                missing.append(name_of(path))
    assert missing == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_public_classes_and_functions_have_docstrings(path):
    tree = ast.parse(path.read_text("utf-8"))
    assert ast.get_docstring(tree), "module docstring"
    if part_of(path) == "cli":
        return
    kinds = (ast.FunctionDef, ast.ClassDef)
    for node in tree.body:
        if isinstance(node, kinds) and not node.name.startswith("_"):
            assert ast.get_docstring(node), node.name


def test_no_file_is_named_utils_or_contains_an_absolute_path():
    files = [*MODULES, *ROOT.glob("*.md"), *(ROOT / "tests").rglob("*.py")]
    for path in files:
        assert path.stem != "utils"
        assert not re.search(r"[\"' (]/(home|root|work)/", path.read_text("utf-8")), (
            path
        )


# Names of Python with an underscore that are documented.
DOCUMENTED = {"_asdict", "_exit", "_fields", "_replace"}


def defined_names(tree):
    """Yields the names of functions, classes and attributes that a module defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute | ast.Name):
            if isinstance(node.ctx, ast.Store):
                yield node.attr if isinstance(node, ast.Attribute) else node.id


def private_names(tree, own):
    """Yields the private names of other packages that a module uses.

    Args:
        tree: `ast.Module`.
        own: Set of the names that this package defines.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            is_private = node.attr.startswith("_") and not node.attr.endswith("__")
            is_inherited = ast.unparse(node.value) == "super()"
            if is_private and (is_inherited or node.attr not in own | DOCUMENTED):
                yield ast.unparse(node)
        elif isinstance(node, ast.ImportFrom):
            package, *modules = node.module.split(".")
            names = [*modules, *(alias.name for alias in node.names)]
            if (
                package != "albert_keras"
                and (
                    any(name.startswith("_") for name in names)
                    # The implementation of Keras and keras-hub, and of TensorFlow.
                    or modules[:1] in (["src"], ["python"])
                )
            ):
                yield f"from {node.module} import {', '.join(names[len(modules) :])}"


def test_private_names_of_other_packages_are_used_in_one_module():
    trees = {name_of(path): ast.parse(path.read_text("utf-8")) for path in MODULES}
    own = {name for tree in trees.values() for name in defined_names(tree)}
    found = {name: sorted(private_names(tree, own)) for name, tree in trees.items()}
    assert found.pop("keras_internals.py")
    assert {name: used for name, used in found.items() if used} == {}
