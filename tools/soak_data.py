#!/usr/bin/env python3
"""Memory of `prepare-data` on gigabytes of text, compared with a tenth of the text.

The given documents are repeated, each time in another order, until there is enough text.
The command then runs on a tenth of the files and on all files, while the resident memory
of its processes is sampled. The peak should hardly grow. Needs Linux (`/proc`).

example:
  tools/soak_data.py --text corpora/en --tokenizer 30k-clean.model --gigabytes 2 --json
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from albert_keras.text import read_documents  # noqa: E402

NUM_FILES = 40
SECONDS_BETWEEN_SAMPLES = 0.2


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        folder = pathlib.Path(folder)
        files = write_corpus(folder, arguments)
        tenth = measure(files[: NUM_FILES // 10], folder / "tenth", arguments)
        whole = measure(files, folder / "whole", arguments)
    results = {
        "tenth": tenth,
        "whole": whole,
        "growth": whole["peak_bytes"] / tenth["peak_bytes"] - 1,
        "late_growth": whole["late_peak_bytes"] / whole["early_peak_bytes"] - 1,
    }
    print(json.dumps(results, indent=None if arguments.json else 2))


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", nargs="+", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--gigabytes", type=float, default=2.0, help="size of the text")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--dupe-factor", type=int, default=1)
    parser.add_argument("--format", default="tfrecord")
    parser.add_argument("--folder", help="temporary folder; default: the system's")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def write_corpus(folder, arguments):
    """Writes files of about the same size from repeated, shuffled documents."""
    documents = list(read_documents(arguments.text))
    generator = random.Random(0)
    file_bytes = arguments.gigabytes * 2**30 / NUM_FILES
    files = [folder / f"text-{number:02}.txt" for number in range(NUM_FILES)]
    for path in files:
        with open(path, "w", encoding="utf-8") as file:
            while file.tell() < file_bytes:
                generator.shuffle(documents)
                for document in documents:
                    file.write("\n".join([*document, "", ""]))
                    if file.tell() >= file_bytes:
                        break
        print(f"wrote {path.name}", file=sys.stderr)
    return files


def measure(files, output, arguments):
    """Runs the command; returns its peak memory and speed."""
    command = [sys.executable, "-m", "albert_keras", "prepare-data", *map(str, files)]
    command += ["--tokenizer", arguments.tokenizer, "--output", str(output), "--json"]
    command += ["--workers", str(arguments.workers)]
    command += ["--format", arguments.format, "--validation-split", "0"]
    if arguments.format == "tfrecord":
        command += ["--dupe-factor", str(arguments.dupe_factor)]
    start, samples = time.monotonic(), []
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None:
            samples.append(resident_bytes(process.pid))
            time.sleep(SECONDS_BETWEEN_SAMPLES)
        report = json.loads(process.stdout.read())
    seconds = time.monotonic() - start
    third = len(samples) // 3
    return {
        "text_bytes": sum(file.stat().st_size for file in files),
        "seconds": seconds,
        "corpus_tokens": report["num_corpus_tokens"],
        "corpus_tokens_per_second": report["num_corpus_tokens"] / seconds,
        "peak_bytes": max(samples),
        "early_peak_bytes": max(samples[:third]),
        "late_peak_bytes": max(samples[-third:]),
    }


def resident_bytes(parent):
    """Returns the resident memory of a process and its descendants."""
    total, waiting = 0, [parent]
    while waiting:
        pid = waiting.pop()
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        for line in status.splitlines():
            if line.startswith("VmRSS:"):
                total += int(line.split()[1]) * 1024
        waiting += map(int, children.split())
    return total


if __name__ == "__main__":
    main()
