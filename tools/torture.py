#!/usr/bin/env python3
"""Kills, hostile files and bad options, at random, against every command.

- kills: a command that writes is killed at a random moment or before a random change of
  files. The same command again must give the content of a run that nobody disturbed.
- files: a file that a command reads is damaged at random. The command must read it, or
  refuse it in one line, in bounded time and memory.
- options: an option gets a hostile value. The command must work, or refuse it in one
  line, and then write nothing.

A case is named by its kind, its group and a seed, and `--only` repeats it. With `--log`
an interrupted call goes on where it stopped. Needs Linux.

examples:
  tools/torture.py --minutes 60 --log torture.jsonl
  tools/torture.py --only files:pytorch:1234 --folder /tmp/torture
"""

import argparse
import collections
import contextlib
import json
import pathlib
import random
import shlex
import shutil
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


def main(argv=None):
    arguments = parse(argv)
    # Processes that a command starts import this file again, and none of these.
    from tools.torture_cases import files, kills, options, trial
    from tools.torture_cases.materials import Materials

    kinds = {module.KIND: module for module in (kills, files, options)}
    tried = read_log(arguments.log)
    cases = arguments.only or choose_cases(kinds, arguments)
    cases = [case for case in cases if case not in tried]
    if cases:
        trial.warm_up()
    end = time.monotonic() + 60 * arguments.minutes
    with working_folder(arguments.folder) as folder:
        materials = Materials(pathlib.Path(folder, "materials"))
        for case in cases:
            if time.monotonic() > end:
                break
            result = run_case(kinds[case.split(":")[0]], case, materials)
            write_log(arguments.log, result)
            show(result)
            tried[case] = result
    return report([*tried.values()], arguments.json)


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for kind, count in (("kills", 200), ("files", 2000), ("options", 500)):
        about = f"number of cases (default: {count})"
        parser.add_argument(f"--{kind}", type=int, default=count, help=about)
    parser.add_argument("--only", nargs="+", metavar="CASE", help="cases to repeat")
    parser.add_argument("--seed", type=int, default=0, help="other cases (default: 0)")
    parser.add_argument(
        "--minutes", type=float, default=60, help="time for new cases (default: 60)"
    )
    parser.add_argument("--log", help="file of results, one JSON object a line")
    parser.add_argument("--folder", help="keeps inputs and what the last case left")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser.parse_args(argv)


def choose_cases(kinds, arguments):
    """Returns the names of all cases, in an order in which no kind waits for another."""
    cases = [
        case
        for kind, module in kinds.items()
        for case in module.names(getattr(arguments, kind), arguments.seed)
    ]
    random.Random(arguments.seed).shuffle(cases)
    return cases


def read_log(path):
    """Returns the results of earlier calls, by case."""
    if not path or not pathlib.Path(path).exists():
        return {}
    lines = pathlib.Path(path).read_text("utf-8").splitlines()
    return {result["case"]: result for result in map(json.loads, lines)}


def write_log(path, result):
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")


def working_folder(path):
    """Returns a context of the folder for inputs and cases."""
    if not path:
        return tempfile.TemporaryDirectory(prefix="torture-")
    pathlib.Path(path).mkdir(parents=True, exist_ok=True)
    return contextlib.nullcontext(path)


def run_case(module, case, materials):
    """Runs a case in a new folder beside the materials; returns its result, a dict."""
    folder = materials.folder.with_name("case")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    start = time.monotonic()
    words, found = module.run(case, materials, folder)
    return {
        "case": case,
        "failures": found,
        "command": shlex.join(["albert-keras", *words]),
        "seconds": round(time.monotonic() - start, 2),
    }


def show(result):
    """Prints a failure with the command that repeats it."""
    for failure in result["failures"]:
        print(f"FAILED {result['case']}: {failure}", file=sys.stderr)
    if result["failures"]:
        print(f"    {result['command']}", file=sys.stderr)
        print(f"    tools/torture.py --only {result['case']}", file=sys.stderr)


def report(results, as_json):
    """Prints how many cases were tried, held and failed; returns the exit status."""
    failed = [result for result in results if result["failures"]]
    counts = collections.Counter(result["case"].split(":")[0] for result in results)
    failures = collections.Counter(result["case"].split(":")[0] for result in failed)
    if as_json:
        kinds = {
            kind: {
                "tried": count,
                "held": count - failures[kind],
                "failed": failures[kind],
            }
            for kind, count in counts.items()
        }
        print(json.dumps({**kinds, "failures": failed}))
    else:
        for kind, count in counts.items():
            held = count - failures[kind]
            print(f"{kind}: {count} tried, {held} held, {failures[kind]} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
