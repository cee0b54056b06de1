"""A job of slow tasks, run as a process of its own to be interrupted.

Arguments: a folder, the number of workers, of tasks, and the seconds that each takes.
"""

import os
import pathlib
import sys
import time

from albert_keras.pretraining.workers import TaskPool


def wait(folder, task):
    """Leaves the worker's id in a file of the folder, sleeps, and adds a line to it."""
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
        print(pool.run("waited", wait, tasks))
