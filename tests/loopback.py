"""HTTP servers on the loopback interface, on a free port."""

import contextlib
import http.server
import json
import threading


class Answers:
    """Methods of a request handler that answers with bytes or JSON."""

    protocol_version = "HTTP/1.1"

    def body(self):
        """Returns the bytes of the request."""
        return self.rfile.read(int(self.headers["Content-Length"]))

    def send_json(self, value, status=200):
        headers = {"Content-Type": "application/json"}
        self.send(status, json.dumps(value).encode(), headers)

    def send(self, status, content=b"", headers=None, sent=None):
        """Sends an answer; `sent` is what is sent in place of the content."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content if sent is None else sent)
            # What was cut short ends in the middle.
            self.close_connection = sent is not None and len(sent) < len(content)

    def log_message(self, *arguments):
        pass


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
