"""Progress of long work on standard error: how far, how fast, how long to go."""

import contextlib

import rich.console
import rich.filesize
import rich.progress


class _Rate(rich.progress.ProgressColumn):
    """Units a second since a task began, in thousands, millions, ..."""

    def render(self, task):
        seconds = task.finished_time if task.finished else task.elapsed
        speed = task.completed / seconds if seconds else 0
        unit, suffix = rich.filesize.pick_unit_and_suffix(
            int(speed), ["", "thousand", "million", "billion"], 1000
        )
        return f"{speed / unit:,.1f} {suffix} {task.fields['unit']}/s"


@contextlib.contextmanager
def show_progress(units):
    """Shows a line for each stage of a work.

    Args:
        units: dict of str: what each stage counts, in their order.

    Yields:
        Callable `(stage, done, total)`; `total` may be None.
    """
    columns = (
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        rich.progress.TaskProgressColumn(),
        _Rate(),
        rich.progress.TimeElapsedColumn(),
        rich.progress.TimeRemainingColumn(),
    )
    console = rich.console.Console(stderr=True)
    with rich.progress.Progress(*columns, console=console) as progress:
        tasks = {}

        def show(stage, done, total):
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, unit=units[stage])
            progress.update(tasks[stage], completed=done, total=total)

        yield show
