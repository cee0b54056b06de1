"""Progress bars on standard error."""

import contextlib
import numbers

import rich.console
import rich.progress

# What the stages of the commands count, if not parts of the work.
_UNITS = {"tokenize": "bytes", "read": "bytes", "sample": "texts", "embed": "texts"}


def open_progress(quiet=False):
    """Returns a `rich` progress display, to be used in a `with`; `quiet` shows nothing.

    Each task of the display has a field `rate`, such as `"1,500 tokens/s"`, or `""`.
    """
    # In notebooks, Rich's own display needs ipywidgets and prints an output block for
    # each line. The kernel claims to be a terminal, but prints a line for each update.
    console = rich.console.Console(
        stderr=True,
        quiet=quiet,
        force_jupyter=False,
        force_terminal=False if rich.console.Console().is_jupyter else None,
    )
    return rich.progress.Progress(
        *rich.progress.Progress.get_default_columns(),
        rich.progress.TextColumn("{task.fields[rate]}"),
        rich.progress.TimeElapsedColumn(),
        console=console,
    )


def format_value(value):
    """Formats a result for display: str and int unchanged, other numbers rounded.

    >>> [format_value(value) for value in (30, 0.53331, 2.4e-7, "a")]
    ['30', '0.5333', '2.4e-07', 'a']
    """
    if isinstance(value, numbers.Integral) or not isinstance(value, numbers.Real):
        return str(value)
    return f"{value:.2g}" if 0 < abs(value) < 1e-3 else f"{value:.4f}"


@contextlib.contextmanager
def show_stages():
    """Shows a progress bar for each stage of a long task.

    Yields a function `(stage, done, total)`, to be called after each part; `total` may be
    None.
    """
    progress, tasks = open_progress(), {}
    with contextlib.ExitStack() as stack:

        def show(stage, done, total):
            if not tasks:
                # Without a task the display would print an empty line.
                stack.enter_context(progress)
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, rate="")
            seconds = progress.tasks[tasks[stage]].elapsed or float("inf")
            rate = f"{done / seconds:,.0f} {_UNITS.get(stage, 'parts')}/s"
            progress.update(tasks[stage], completed=done, total=total, rate=rate)

        yield show
