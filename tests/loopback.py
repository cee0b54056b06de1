"""HTTP servers on the loopback interface, on a free port."""

import contextlib
import http.server
import threading


@contextlib.contextmanager
def served(handler, **attributes):
    """Serves with a request handler class in this context; gives the address.

    Handlers find the attributes at `self.server`.
    """
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    vars(server).update(attributes)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
