"""Script with slow tasks, to be interrupted.

Arguments: a folder, the number of workers, the number of tasks, seconds for each task.
"""

import os
import pathlib
import sys
import time

from albert_keras.pretraining.workers import TaskPool
from tests.pretraining import worker_job  # This module as workers import it.


def wait(folder, task):
    """Creates a file named after the task and the process, sleeps, and writes to it."""
    # Spawned processes import the script of their parent unless it is hidden.
    assert not hasattr(sys.modules["__main__"], "__file__")
    number, seconds = task
    path = pathlib.Path(folder, "begun", f"{number}-{os.getpid()}")
    path.touch()
    time.sleep(seconds)
    path.write_text("done")
    return number**2


if __name__ == "__main__":
    folder, num_workers, num_tasks = sys.argv[1], *map(int, sys.argv[2:4])
    tasks = [(number, float(sys.argv[4])) for number in range(num_tasks)]
    with TaskPool(f"{folder}/results", num_workers, folder) as pool:
        print(pool.run("waited", worker_job.wait, tasks))
