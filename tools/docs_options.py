"""Griffe extension that prepares docstrings for the site.

A field such as `seed: int = option("seed of all random numbers", 0)` has the default 0
in the signature, and a row in a table below the docstring of its class. Doctests and
Keras' titles of sections become blocks of code and bold lines.
"""

import ast
import re

import griffe

from tools.tables import markdown_table

# Position of the default among the arguments of the functions that declare fields.
DEFAULTS = {"option": 1, "_count": 2}
DOCTEST = re.compile(r"^>>> .*(?:\n(?!\s*$).+)*", re.M)
TITLE = re.compile(
    r"^(Example|Call arguments|Input shape|Output shape|Reference):", re.M
)


class Docstrings(griffe.Extension):
    """Replaces calls of `option` by their defaults, and prepares docstrings."""

    def on_object(self, *, obj, **kwargs):
        """Writes doctests as code, and titles in bold."""
        if obj.docstring and not obj.is_alias:
            text = DOCTEST.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
            obj.docstring.value = TITLE.sub(r"**\1:**", text)

    def on_attribute_instance(self, *, node, attr, **kwargs):
        """Replaces a field's value by its default, and keeps its help."""
        call = getattr(node, "value", None)
        name = getattr(getattr(call, "func", None), "id", None)
        if not isinstance(call, ast.Call) or name not in DEFAULTS:
            return
        place = DEFAULTS[name]
        given = call.args[place : place + 1]
        attr.value = ast.unparse(given[0]) if given else None
        attr.extra["option"] = _text_of(call.args[0])

    def on_class_members(self, *, node, cls, **kwargs):
        """Adds a table of the options to the docstring of a class."""
        rows = [
            [f"`{name}`", member.extra["option"]]
            for name, member in cls.members.items()
            if "option" in member.extra
        ]
        if rows and cls.docstring:
            table = markdown_table(["field", "meaning"], rows)
            cls.docstring.value = f"{cls.docstring.value}\n\n{table}"


def _text_of(node):
    """Returns a help text, with `...` for each expression of an f-string."""
    if isinstance(node, ast.Constant):
        text = str(node.value)
    elif isinstance(node, ast.JoinedStr):
        parts = [getattr(part, "value", None) for part in node.values]
        text = "".join(part if isinstance(part, str) else "..." for part in parts)
    else:
        text = ""
    return text.replace("|", "\\|")
