"""Hook of MkDocs for pages that are made from the code.

It replaces `{{ commands }}`, `{{ recipes }}`, `{{ tasks }}` and `{{ sizes }}` in a page
by tables of the parsers, recipes, tasks and presets, so that the reference cannot differ
from the code.
"""

import argparse
import re
import textwrap


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
            rows = [_option(action) for action in group._group_actions]
            if rows := [row for row in rows if row]:
                table = "\n".join(["| option | meaning |", "| --- | --- |", *rows])
                if group.title in ("options", "positional arguments"):
                    parts.append(table)
                else:
                    # Folded: a page has 300 options.
                    folded = textwrap.indent(table, "    ")
                    parts.append(f'??? note "{group.title.capitalize()}"\n\n{folded}')
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
    names = names or f"`{action.metavar or action.dest}`"
    about = (action.help or "").replace("%%", "%").replace("|", "\\|")
    if action.choices:
        known = ", ".join(f"`{choice}`" for choice in action.choices)
        return f"| {names} | {_as_markdown(about)}<br>One of {known}. |"
    return f"| {names} | {_as_markdown(about)} |"


def recipes():
    """Returns a table of the recipes of pretraining."""
    from albert_keras.pretraining import RECIPES

    lines = [
        "| recipe | model | optimizer, rate | batch | steps | text | measured |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, recipe in RECIPES.items():
        phases = f" in {len(recipe.phases)} phases" if recipe.phases else ""
        batch = " and ".join(f"{size:,}" for size in dict.fromkeys(recipe.batch_sizes))
        lines.append(
            f"| `{name}` | {recipe.preset} | {recipe.optimizer}, "
            f"{recipe.learning_rate:.3g} | {batch} | {recipe.num_steps:,}{phases} | "
            f"{recipe.text} | {recipe.measured or 'no'} |"
        )
    return "\n".join(lines)


def tasks():
    """Returns a table of the tasks and their recipes."""
    from albert_keras.tasks import TASKS

    lines = [
        "| task | learning rate | batch | steps | warm-up | length | starts from |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, task in TASKS.items():
        recipe = task.recipe
        steps = f"{recipe.num_epochs} epochs"
        if recipe.num_steps:
            steps = f"{recipe.num_steps:,}"
        warmup = "6 %" if recipe.warmup_steps is None else f"{recipe.warmup_steps:,}"
        lines.append(
            f"| `{name}` | {recipe.learning_rate:g} | {recipe.batch_size} | {steps} | "
            f"{warmup} | {recipe.sequence_length} | {recipe.starts_from or ''} |"
        )
    return "\n".join(lines)


def sizes():
    """Returns a table of the presets."""
    from albert_keras.analysis import count_parameters
    from albert_keras.config import PRESETS

    lines = [
        "| preset | layers | width | heads | embedding | vocabulary | parameters |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, config in PRESETS.items():
        lines.append(
            f"| `{name}` | {config.num_layers} | {config.hidden_dim:,} | "
            f"{config.num_heads} | {config.embedding_dim} | "
            f"{config.vocabulary_size:,} | {count_parameters(config):,} |"
        )
    return "\n".join(lines)
