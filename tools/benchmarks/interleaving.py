"""Measurements in turn, so that a busy machine slows all of them alike."""

import statistics
import time


def measure_in_turn(measurements, num_rounds):
    """Yields the results of each round, in which every measurement is taken once.

    Args:
        measurements: Dict by name of functions without arguments.
        num_rounds: int.

    Yields:
        Dicts of the functions' results by name.
    """
    for _ in range(num_rounds):
        yield {name: measure() for name, measure in measurements.items()}


def medians(rounds):
    """Returns the median by name of numbers in a list of dicts."""
    return {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}


def processor_seconds(function):
    """Returns the processor time of a call, of all threads of this process."""
    start = time.process_time()
    function()
    return time.process_time() - start
