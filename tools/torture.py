#!/usr/bin/env python3
"""Runs every command on hostile files and with bad options.

- files: a file that a command reads is damaged. The command must read it, or refuse it in
  one line, in bounded time and memory.
- options: an option gets a bad value. The command must work, or refuse it in one line,
  and then write nothing.
- embedders: rows or options do not fit an embedder. The command must refuse them.

A case is named by its kind, its group and a seed, and `--only` repeats it. Needs Linux.

examples:
  tools/torture.py --minutes 60
  tools/torture.py --only files:pytorch:0-1234 --folder /tmp/torture
"""

import collections
import pathlib
import random
import shlex
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tools.parser import new_parser


def main(argv=None):
    """Runs the cases; returns the exit status."""
    arguments = parse(argv)
    # Processes that a command starts import this file again, and none of these.
    from tools.torture_cases import cases, trial
    from tools.torture_cases.materials import Materials

    names, seed = arguments.only, arguments.seed
    if not names:
        names = [name for kind in cases.KINDS for name in cases.names(kind, seed)]
        # No kind waits for another.
        random.Random(seed).shuffle(names)
    trial.warm_up()
    end = time.monotonic() + 60 * arguments.minutes
    tried, failed = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory(prefix="torture-") as temporary:
        folder = pathlib.Path(arguments.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        # All users may enter.
        folder.chmod(0o755)
        materials = Materials(folder / "materials")
        for case in names:
            if time.monotonic() > end:
                break
            kind = case.split(":")[0]
            shutil.rmtree(folder / "case", ignore_errors=True)
            (folder / "case").mkdir()
            words, failures = cases.run(case, materials, folder / "case")
            tried[kind] += 1
            failed[kind] += bool(failures)
            for failure in failures:
                print(f"FAILED {case}: {failure}")
                print(f"    {shlex.join(['albert-keras', *words])}", flush=True)
    for kind in tried:
        held = tried[kind] - failed[kind]
        print(f"{kind}: {tried[kind]} tried, {held} held, {failed[kind]} failed")
    return 1 if failed.total() else 0


def parse(argv):
    """Returns the arguments."""
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("--only", nargs="+", metavar="CASE", help="cases to repeat")
    add("--seed", type=int, default=0, help="other cases (default: 0)")
    add("--minutes", type=float, default=60, help="time for all (default: 60)")
    add("--folder", help="keeps inputs and what the last case left")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
