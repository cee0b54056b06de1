"""The progress display of training."""

import io

import pytest
import rich.console
import rich.progress

from albert_keras.system.progress import open_progress
from albert_keras.training.logs import RunLog
from albert_keras.training.progress import RichProgress, line_printer


@pytest.mark.parametrize(
    ("tokens", "unit"), [(None, "steps/s"), (6 * 13, "tokens/s")], ids=str
)
@pytest.mark.parametrize("terminal", [True, False])
def test_loss_rate_time_left_and_evaluation(terminal, tokens, unit):
    text = io.StringIO()
    console = rich.console.Console(file=text, width=120, force_terminal=terminal)
    columns = open_progress().columns
    with rich.progress.Progress(*columns, console=console) as progress:
        callback = RichProgress(RunLog(3, 2, [], tokens), 11, progress)
        callback.on_epoch_begin(0)
        for batch, loss in enumerate([1.5, 1.25, 1.125]):
            callback.on_train_batch_end(batch, {"loss": loss})
        callback.on_epoch_end(0, {"loss": 1.125, "val_loss": 0.5})
    shown = text.getvalue()
    assert "step 6: loss 0.5000" in shown
    assert "loss 1.125" in shown
    assert unit in shown
    # A log file or notebook shows no moving bar: it gets lines.
    assert ("step 4/11: loss 1.500, " in shown) == (not terminal)
    assert ("step 6/11: loss 1.125, " in shown) == (not terminal)


def test_lines_are_printed_as_they_are():
    text = io.StringIO()
    print_line = line_printer(rich.console.Console(file=text, width=20))
    print_line("a path [red]/of more than/twenty letters[/red].npz")
    assert text.getvalue() == "a path [red]/of more than/twenty letters[/red].npz\n"


def test_quiet_bar_prints_nothing(capsys):
    with open_progress(quiet=True) as progress:
        callback = RichProgress(RunLog(0, 1, []), 5, progress)
        callback.on_epoch_begin(0)
        callback.on_train_batch_end(0, {"loss": 1.25})
        line_printer(progress.console)("a line")
    assert capsys.readouterr() == ("", "")
