#!/usr/bin/env python3
"""Prints the size of the code: lines by folder, public names, cycles of imports.

A line of code is one with a token that is neither a comment nor a docstring. A cycle is a
set of modules that import each other, also inside functions.

example:
  tools/code_size.py albert_keras tests tools
"""

import ast
import graphlib
import io
import pathlib
import sys
import tokenize

_WITHOUT_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT),
    *(tokenize.DEDENT, tokenize.ENDMARKER),
}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def count_lines(text):
    r"""Returns the lines of code of a module's text.

    >>> count_lines("# Why.\n\nx = [\n    1,\n]\n")
    3
    """
    documentation = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            first = node.body[0]
            documentation.update(range(first.lineno, first.end_lineno + 1))
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _WITHOUT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documentation)


def find_cycle(folder):
    """Returns the modules of a cycle of imports in a package, or an empty list."""
    modules = {
        ".".join(path.relative_to(folder.parent).with_suffix("").parts): path
        for path in folder.rglob("*.py")
        if path.name != "__init__.py"
    }
    imported = {}
    for module, path in modules.items():
        names = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names.add(node.module)
                names.update(f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
        imported[module] = names & modules.keys() - {module}
    try:
        graphlib.TopologicalSorter(imported).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def main(folders):
    """Prints a table for each folder."""
    for folder in map(pathlib.Path, folders):
        totals = {}
        for path in folder.rglob("*.py"):
            part = path.relative_to(folder).parts[0]
            lines = count_lines(path.read_text("utf-8"))
            totals[part] = totals.get(part, 0) + lines
        for part, lines in sorted(totals.items(), key=lambda item: -item[1]):
            print(f"{lines:7,}  {folder.name}/{part}")
        print(f"{sum(totals.values()):7,}  {folder.name}")
        stub = folder / "__init__.pyi"
        if stub.is_file():
            names = {
                alias.asname
                for node in ast.parse(stub.read_text("utf-8")).body
                # Not the folders, whose names are one level down.
                if node.module
                for alias in node.names
            }
            cycle = " -> ".join(find_cycle(folder)) or "none"
            print(f"{len(names):7,}  public names of {folder.name}; cycles: {cycle}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["albert_keras", "tests", "tools"])
