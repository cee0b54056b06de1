#!/usr/bin/env python3
"""Loads `albert-keras serve` over loopback, with and without micro-batching.

For each number of clients, servers with and without micro-batching are asked in turn, for
a bounded time each: requests a second, milliseconds of the median, 95th and 99th
percentile, and errors. Then one server answers `--memory-requests`, and its memory after
a tenth of them is compared with that at the end. Each client asks for one text at a time,
on a connection that it keeps; the clients share the processor with the server.

example:
  tools/benchmarks/serving.py models/sst2 --texts SST-2/dev.tsv --text-column sentence
"""

import argparse
import concurrent.futures
import contextlib
import csv
import http.client
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVERS = {"batches": [], "alone": ["--batch-delay-ms", "0"]}


def main(argv=None):
    """Prints the figures as JSON."""
    arguments = parse(argv)
    texts = read_texts(arguments.texts, arguments.text_column)
    results = {"clients": {}}
    with contextlib.ExitStack() as stack:
        addresses = {
            name: stack.enter_context(server(arguments.model, options))
            for name, options in SERVERS.items()
        }
        for address, _ in addresses.values():
            ask(address, texts, 1, num_requests=20)
        for num_clients in arguments.clients:
            measured = {
                name: ask(address, texts, num_clients, seconds=arguments.seconds)
                for name, (address, _) in addresses.items()
            }
            ratio = np.divide(
                *(one["requests_per_second"] for one in measured.values())
            )
            results["clients"][num_clients] = {**measured, "ratio": float(ratio)}
        if arguments.memory_requests:
            results["memory"] = measure_memory(
                *addresses["batches"], texts, arguments.memory_requests
            )
    print(json.dumps(results, indent=2))


def parse(argv):
    """Returns the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="as of `albert-keras serve`; it takes `text`")
    parser.add_argument("--texts", required=True, help="TSV file")
    parser.add_argument("--text-column", default="text")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--memory-requests", type=int, default=100_000)
    return parser.parse_args(argv)


def read_texts(path, column):
    """Returns the texts of a column."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row[column] for row in rows]


@contextlib.contextmanager
def server(model, options):
    """Yields the address of a server and its process's number."""
    words = [sys.executable, "-m", "albert_keras", "serve", str(model), "--port", "0"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [*words, *options], stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        for line in process.stderr:
            if found := re.search(r"serving http://(\S+),", line):
                break
        else:
            raise SystemExit(f"The server of {model} did not start.")
        yield found[1], process.pid
    finally:
        process.terminate()
        process.wait()


def ask(address, texts, num_clients, seconds=float("inf"), num_requests=float("inf")):
    """Asks until the time or the requests are over; returns the figures."""
    host, path = address.split("/", 1)
    end = time.perf_counter() + seconds
    numbers = itertools.count()

    def client(first):
        connection = http.client.HTTPConnection(host, timeout=60)
        latencies, errors = [], 0
        for text in itertools.islice(itertools.cycle(texts), first, None):
            start = time.perf_counter()
            if start > end or next(numbers) >= num_requests:
                break
            body = json.dumps({"instances": [{"text": text}]})
            connection.request("POST", f"/{path}:predict", body)
            response = connection.getresponse()
            response.read()
            errors += response.status != 200
            latencies.append(time.perf_counter() - start)
        connection.close()
        return latencies, errors

    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(num_clients) as pool:
        firsts = range(0, num_clients * 97, 97)
        found = list(pool.map(client, (first % len(texts) for first in firsts)))
    elapsed = time.perf_counter() - start
    latencies = 1000 * np.concatenate([times for times, _ in found])
    percentiles = np.percentile(latencies, (50, 95, 99)).tolist()
    return {
        "requests_per_second": len(latencies) / elapsed,
        **dict(zip(("p50_ms", "p95_ms", "p99_ms"), percentiles, strict=True)),
        "errors": sum(errors for _, errors in found),
    }


def measure_memory(address, process, texts, num_requests):
    """Returns the memory of a server after a tenth of the requests, and after all."""
    ask(address, texts, 8, num_requests=num_requests // 10)
    before = resident_bytes(process)
    last = ask(address, texts, 8, num_requests=num_requests - num_requests // 10)
    after = resident_bytes(process)
    return {
        "requests": num_requests,
        "bytes_after_a_tenth": before,
        "bytes": after,
        "growth": after / before - 1,
        "errors": last["errors"],
    }


def resident_bytes(process):
    """Returns the memory of a process."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return 1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1])


if __name__ == "__main__":
    main()
