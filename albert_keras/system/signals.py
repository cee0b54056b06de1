"""Signals to stop, recorded on arrival and obeyed between two steps."""

import contextlib
import signal
import threading

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """Context manager that records the first SIGTERM or SIGINT.

    A second one acts as usual. Outside the main thread, where Python receives no signals,
    nothing is recorded.
    """

    def __init__(self):
        self.received = None
        self._handlers = {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            self._handlers = {
                number: signal.signal(number, self._note)
                for number in STOP_SIGNALS
                # None is that of another language, which Python cannot restore.
                if signal.getsignal(number) is not None
            }
        return self

    def __exit__(self, *exception):
        self._restore_handlers()

    def stop(self):
        """Ends the program: KeyboardInterrupt for SIGINT, SystemExit for SIGTERM."""
        if self.received is signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + self.received)

    def _note(self, number, frame):
        self.received = signal.Signals(number)
        self._restore_handlers()

    def _restore_handlers(self):
        while self._handlers:
            signal.signal(*self._handlers.popitem())


@contextlib.contextmanager
def stopped_afterwards():
    """Context, or decorator, of what a first SIGTERM or SIGINT does not interrupt.

    The signal acts as usual at the end. It is for the removal of files and locks:
    interrupted in the middle, libraries raise errors of their own, and finalizers of
    Python swallow the `KeyboardInterrupt`.
    """
    signals = StopSignals()
    try:
        with signals:
            yield
    finally:
        if signals.received:
            signal.raise_signal(signals.received)
