#!/usr/bin/env python3
"""Loads `albert-keras serve` over loopback, with and without micro-batching.

For each number of clients a server is asked for a bounded time. Printed are the
milliseconds for each request (1,000 divided by the requests a second), and the median and
the 99th percentile of the time until an answer. Each client asks for one text at a time,
on a connection that it keeps; the clients share `--threads` cores with the server.

example:
  tools/benchmarks/serving.py models/sst2 --texts SST-2/dev.tsv --text-column sentence
"""

import atexit
import concurrent.futures
import functools
import http.client
import itertools
import json
import pathlib
import re
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.text.tables import read_table
from tools.benchmarks import harness
from tools.benchmarks.harness import Contender


def main(argv=None):
    """Measures, and prints the results."""
    parser = harness.make_parser(__doc__, CONTENDERS)
    parser.set_defaults(threads=2)
    add = parser.add_argument
    add("model", help="as for `albert-keras serve`; it takes `text`")
    add("--texts", required=True, help="table")
    add("--text-column", default="text")
    add("--clients", type=int, nargs="+", default=[1, 8, 64])
    add("--seconds", type=float, default=10, help="of each measurement")
    arguments = parser.parse_args(argv)
    rows = read_table(arguments.texts, columns=[arguments.text_column])
    texts = [row[arguments.text_column] for _, row in rows]
    harness.compare(__file__, CONTENDERS, arguments, {"texts": texts})


def served(work, options=()):
    """Starts a server; returns a function that loads it."""
    words = [sys.executable, *"-m albert_keras serve --port 0".split(), work["model"]]
    process = subprocess.Popen([*words, *options], stderr=subprocess.PIPE, text=True)
    atexit.register(process.terminate)
    for line in process.stderr:
        if found := re.search(r"serving http://(\S+),", line):
            break
    else:
        raise SystemExit(f"The server of {work['model']} did not start.")
    load = functools.partial(ask, found[1], work["texts"])
    load(1, seconds=2)

    def measure():
        return {
            f"{number} clients, {name}": seconds
            for number in work["clients"]
            for name, seconds in load(number, work["seconds"]).items()
        }

    return measure


def ask(address, texts, num_clients, seconds):
    """Asks a server until the time is over; returns the figures, in seconds."""
    host, path = address.split("/", 1)
    begin = time.perf_counter()

    def client(first):
        connection = http.client.HTTPConnection(host, timeout=60)
        latencies = []
        for text in itertools.islice(itertools.cycle(texts), first, None):
            start = time.perf_counter()
            if start > begin + seconds:
                break
            body = json.dumps({"instances": [{"text": text}]})
            connection.request("POST", f"/{path}:predict", body)
            response = connection.getresponse()
            answer = response.read()
            if response.status != 200:
                raise RuntimeError(f"The server answered {answer.decode()}")
            latencies.append(time.perf_counter() - start)
        connection.close()
        return latencies

    with concurrent.futures.ThreadPoolExecutor(num_clients) as pool:
        firsts = [97 * number % len(texts) for number in range(num_clients)]
        latencies = np.concatenate([*pool.map(client, firsts)])
    elapsed = time.perf_counter() - begin
    return {
        "a request": elapsed / len(latencies),
        "median": float(np.median(latencies)),
        "99 of 100": float(np.percentile(latencies, 99)),
    }


CONTENDERS = {
    "alone": Contender(
        functools.partial(served, options=("--batch-delay-ms", "0")), ("tensorflow",)
    ),
    "batches": Contender(served, ("tensorflow",)),
}


if __name__ == "__main__":
    main()
