"""A server on the loopback interface that answers like Kaggle's API for models.

kagglehub has no setting for the address of a server. It takes `http://localhost` with
`KAGGLE_API_ENVIRONMENT=LOCALHOST`, which an HTTP proxy can answer on any port.
"""

import base64
import contextlib
import hashlib
import http.server
import json
import urllib.parse

from tests.loopback import Answers, served

VERSION = 3


class Kaggle:
    """What the server holds: `models` maps pairs of an owner and a model to their files.

    `calls` lists the requests so far.
    """

    def __init__(self, models):
        self.models, self.calls, self.blobs = models, [], []

    def start_blob(self, name):
        self.blobs.append((name, None))
        number = str(len(self.blobs) - 1)
        return {"token": number, "createUrl": f"http://localhost/blob/{number}"}

    def files_of(self, directory, path=""):
        """Yields the paths and contents of the uploaded blobs in a directory."""
        for file in directory.get("files", []):
            name, content = self.blobs[int(file["token"])]
            yield path + name, content
        for inner in directory.get("directories", []):
            yield from self.files_of(inner, f"{path}{inner['name']}/")


class _Handler(Answers, http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        number = int(self.path.rpartition("/")[2])
        name, _ = self.server.kaggle.blobs[number]
        self.server.kaggle.blobs[number] = name, self.body()
        self.send(200)

    def do_POST(self):
        kaggle = self.server.kaggle
        request = json.loads(self.body())
        call = urllib.parse.urlsplit(self.path).path.rpartition("/")[2]
        kaggle.calls.append(call)
        owner = request.get("ownerSlug")
        files = kaggle.models.get((owner, request.get("modelSlug")))
        if call == "StartBlobUpload":
            self.send_json(kaggle.start_blob(request["name"]))
        elif call == "CreateModel":
            kaggle.models[owner, request["slug"]] = {}
            self.send_json({})
        elif files is None:
            self.send_json({"code": 404, "message": "Not found"}, status=404)
        elif call == "GetModel":
            self.send_json({})
        elif call == "CreateModelInstance":
            files.update(kaggle.files_of(request["body"]))
            self.send_json({})
        elif call == "GetModelInstance":
            self.send_json({"versionNumber": VERSION})
        elif call == "ListModelInstanceVersionFiles":
            listed = [{"name": name} for name in files]
            self.send_json({"files": listed, "nextPageToken": ""})
        else:
            content = files[request["path"]]
            checksum = base64.b64encode(hashlib.md5(content).digest()).decode()
            self.send(200, content, {"x-goog-hash": f"md5={checksum}"})


@contextlib.contextmanager
def serving(kaggle):
    """Serves a `Kaggle`; gives the environment of a process that asks it."""
    with served(_Handler, kaggle=kaggle) as address:
        proxies = {"HTTP_PROXY": address, "http_proxy": address}
        everything = {"NO_PROXY": "", "no_proxy": ""}
        yield {"KAGGLE_API_ENVIRONMENT": "LOCALHOST", **proxies, **everything}
