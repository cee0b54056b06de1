"""Signals: the first is recorded, the second acts, handlers are restored."""

import signal
from concurrent import futures

import pytest

from albert_keras.system.signals import StopSignals


@pytest.fixture
def handled():
    """Numbers of the signals that came to the handler of the program."""
    numbers = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: numbers.append(number))
    yield numbers
    signal.signal(signal.SIGTERM, before)


def test_the_first_signal_is_recorded_the_second_acts_and_handlers_are_restored(
    handled,
):
    interrupt = signal.getsignal(signal.SIGINT)
    with StopSignals() as signals:
        assert signals.received is None
        assert signal.getsignal(signal.SIGINT) != interrupt
        signal.raise_signal(signal.SIGTERM)
        assert signals.received is signal.SIGTERM
        assert handled == []
        signal.raise_signal(signal.SIGTERM)
        assert handled == [signal.SIGTERM]
    with StopSignals():
        pass
    assert signal.getsignal(signal.SIGINT) == interrupt
    signal.raise_signal(signal.SIGTERM)
    assert handled == 2 * [signal.SIGTERM]


@pytest.mark.parametrize(
    ("number", "error"),
    [(signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)],
)
def test_stops_as_the_signal_would_have(number, error):
    with StopSignals() as signals:
        signal.raise_signal(number)
        with pytest.raises(error) as raised:
            signals.stop()
    if error is SystemExit:
        assert raised.value.code == 143


def test_other_threads_receive_no_signals():
    def enter():
        with StopSignals() as signals:
            return signals.received, signal.getsignal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    with futures.ThreadPoolExecutor(1) as threads:
        assert threads.submit(enter).result() == (None, before)
