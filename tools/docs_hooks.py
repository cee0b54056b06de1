"""Hook of MkDocs for pages that are made from the code.

It replaces `{{ commands }}`, `{{ recipes }}`, `{{ tasks }}` and `{{ sizes }}` in a page
by tables of the parsers, recipes, tasks and presets, so that the reference cannot differ
from the code.
"""

import argparse
import re
import textwrap

from tools.tables import markdown_table


def on_page_markdown(markdown, page, config, files):
    """Replaces the names in braces by their tables."""
    makers = {"commands": commands, "recipes": recipes, "tasks": tasks, "sizes": sizes}
    for name, make in makers.items():
        place = f"{{{{ {name} }}}}"
        if place in markdown:
            markdown = markdown.replace(place, make())
    return markdown


def commands():
    """Returns the reference of all commands, in Markdown."""
    from albert_keras import cli

    parts = []
    for name, summary in cli.COMMANDS.items():
        _, parser = cli.make_parsers([name])
        parts += [f"## {name}", f"{summary[0].upper()}{summary[1:]}."]
        parts += [f"```text\n{parser.usage}\n```", *_description(parser.description)]
        for group in parser._action_groups:
            if not (rows := [*filter(None, map(_option, group._group_actions))]):
                continue
            table = markdown_table(["option", "meaning"], rows)
            if group.title not in ("options", "positional arguments"):
                # Folded: a page has 300 options.
                folded = textwrap.indent(table, "    ")
                table = f'??? note "{group.title.capitalize()}"\n\n{folded}'
            parts.append(table)
    return "\n\n".join(parts)


def _description(text):
    """Yields the paragraphs of a command's help; its examples become a code block."""
    text, *examples = re.split(r"\nexamples?:\n", text, maxsplit=1)
    _, _, rest = text.strip().partition("\n")
    if rest.strip():
        yield _as_markdown(rest.strip())
    for block in examples:
        lines = [line.removeprefix("  ") for line in block.rstrip().split("\n")]
        yield "```bash\n" + "\n".join(lines) + "\n```"


def _as_markdown(text):
    """Escapes the characters that Markdown reads, except in backticks."""
    return re.sub(r"`[^`]*`|[\[*_<]", _escaped, text)


def _escaped(match):
    found = match[0]
    return found if found[0] == "`" else {"<": "&lt;"}.get(found, f"\\{found}")


def _option(action):
    """Returns a row of a table of options, or `None` for that of help."""
    if isinstance(action, argparse._HelpAction) or action.help == argparse.SUPPRESS:
        return None
    names = " ".join(f"`{flag}`" for flag in action.option_strings)
    about = (action.help or "").replace("%%", "%").replace("|", "\\|")
    about = _as_markdown(about)
    if action.choices:
        known = ", ".join(f"`{choice}`" for choice in action.choices)
        about += f"<br>One of {known}."
    return [names or f"`{action.metavar or action.dest}`", about]


def table(head, named, columns):
    """Returns a table of objects by name; `columns` has a function of each by title."""
    rows = [
        [f"`{name}`", *(make(each) for make in columns.values())]
        for name, each in named.items()
    ]
    return markdown_table([head, *columns], rows)


def recipes():
    """Returns a table of the recipes of pretraining."""
    from albert_keras.pretraining import RECIPES

    def steps(recipe):
        phases = f" in {len(recipe.phases)} phases" if recipe.phases else ""
        return f"{recipe.num_steps:,}{phases}"

    columns = {
        "model": lambda r: r.preset,
        "optimizer, rate": lambda r: f"{r.optimizer}, {r.learning_rate:.3g}",
        "batch": lambda r: " and ".join(f"{n:,}" for n in dict.fromkeys(r.batch_sizes)),
        "steps": steps,
        "text": lambda r: r.text,
        "measured": lambda r: r.measured or "no",
    }
    return table("recipe", RECIPES, columns)


def tasks():
    """Returns a table of the tasks and their recipes."""
    from albert_keras.tasks import TASKS

    def steps(recipe):
        steps = recipe.num_steps
        return f"{steps:,}" if steps else f"{recipe.num_epochs} epochs"

    def warmup(recipe):
        return "6 %" if recipe.warmup_steps is None else f"{recipe.warmup_steps:,}"

    columns = {
        "learning rate": lambda r: f"{r.learning_rate:g}",
        "batch": lambda r: str(r.batch_size),
        "steps": steps,
        "warm-up": warmup,
        "length": lambda r: str(r.sequence_length),
        "starts from": lambda r: r.starts_from or "",
    }
    return table("task", {name: task.recipe for name, task in TASKS.items()}, columns)


def sizes():
    """Returns a table of the presets."""
    from albert_keras.analysis import count_parameters
    from albert_keras.config import PRESETS

    columns = {
        "layers": lambda c: str(c.num_layers),
        "width": lambda c: f"{c.hidden_dim:,}",
        "heads": lambda c: str(c.num_heads),
        "embedding": lambda c: str(c.embedding_dim),
        "vocabulary": lambda c: f"{c.vocabulary_size:,}",
        "parameters": lambda c: f"{count_parameters(c):,}",
    }
    return table("preset", PRESETS, columns)
