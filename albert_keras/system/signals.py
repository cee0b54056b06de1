"""Stop signals that are recorded on arrival and handled between two steps."""

import signal
import threading

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """Context manager that records the first SIGTERM or SIGINT.

    A second one has its usual effect. Python receives signals only in the main thread;
    in other threads nothing is recorded.
    """

    received = None

    def __enter__(self):
        self._handlers = {}
        if threading.current_thread() is threading.main_thread():
            self._handlers = {
                number: signal.signal(number, self._note)
                for number in STOP_SIGNALS
                # None: a handler that was not set by Python, which cannot restore it.
                if signal.getsignal(number) is not None
            }
        return self

    def __exit__(self, *exception):
        while self._handlers:
            signal.signal(*self._handlers.popitem())

    def stop(self):
        """Ends the program: KeyboardInterrupt for SIGINT, SystemExit for SIGTERM."""
        if self.received is signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + self.received)

    def _note(self, number, frame):
        self.received = signal.Signals(number)
        self.__exit__()
