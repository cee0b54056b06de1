"""A server on the loopback interface that answers like Kaggle's API for models.

kagglehub has no setting for the address of a server. It takes `http://localhost` with
`KAGGLE_API_ENVIRONMENT=LOCALHOST`, which an HTTP proxy can answer on any port.
"""

import base64
import contextlib
import hashlib
import http.server
import json
import threading
import urllib.parse

VERSION = 3


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        call = urllib.parse.urlsplit(self.path).path.rpartition("/")[2]
        files = self.server.models.get((request["ownerSlug"], request["modelSlug"]))
        self.server.calls.append(call)
        if files is None:
            self.send(404, b'{"code": 404, "message": "Not found"}')
        elif call == "GetModelInstance":
            self.send(200, json.dumps({"versionNumber": VERSION}).encode())
        elif call == "ListModelInstanceVersionFiles":
            listed = [{"name": name} for name in files]
            self.send(200, json.dumps({"files": listed, "nextPageToken": ""}).encode())
        else:
            content = files[request["path"]]
            checksum = base64.b64encode(hashlib.md5(content).digest()).decode()
            self.send(200, content, {"x-goog-hash": f"md5={checksum}"})

    def send(self, status, content, headers=None):
        self.send_response(status)
        headers = headers or {"Content-Type": "application/json"}
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def serving(models):
    """Serves a dict from pairs of an owner and a model to a dict of files.

    Gives the server, whose `calls` are the requests so far, and the environment of a
    process that asks it.
    """
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.models, server.calls = models, []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield (
            server,
            {
                "KAGGLE_API_ENVIRONMENT": "LOCALHOST",
                "HTTP_PROXY": f"http://127.0.0.1:{server.server_port}",
                "http_proxy": f"http://127.0.0.1:{server.server_port}",
                "NO_PROXY": "",
                "no_proxy": "",
            },
        )
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
