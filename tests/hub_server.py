"""A server on the loopback interface with the Hugging Face hub's addresses."""

import base64
import contextlib
import hashlib
import http.server
import json
import urllib.parse

from tests.loopback import Answers, served

# Files beyond this size are stored by Git LFS, under their SHA-256.
_LARGEST_IN_GIT = 2000
# Of the user who may upload.
TOKEN = "hf_of_the_tests"


def _hash_of(content):
    if len(content) > _LARGEST_IN_GIT:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Hub:
    """What the server holds: `repositories` maps `USER/MODEL` to a dict of files.

    `damage` maps a file's name to a function of its content, applied to what is sent;
    `requests` lists the paths of all requests. A holder of `TOKEN` may make repositories
    and upload files.
    """

    def __init__(self, repositories):
        self.repositories = repositories
        self.damage = {}
        self.requests = []
        self.num_commits = 0

    @property
    def commit(self):
        return f"c0ffee{self.num_commits:034}"

    def describe(self, repository):
        files = [{"rfilename": name} for name in self.repositories[repository]]
        return {"id": repository, "sha": self.commit, "siblings": files}

    def write(self, repository, lines):
        """Commits files: JSON lines, the header first."""
        files = self.repositories[repository]
        for line in map(json.loads, lines[1:]):
            path = line["value"]["path"]
            if line["key"] == "deletedFile":
                del files[path]
            else:
                files[path] = base64.b64decode(line["value"]["content"])
        self.num_commits += 1

    def tree(self, repository):
        for name, content in self.repositories[repository].items():
            entry = {"type": "file", "path": name, "size": len(content)}
            entry["oid"] = _hash_of(content)
            if len(content) > _LARGEST_IN_GIT:
                entry["lfs"] = {"oid": _hash_of(content), "size": len(content)}
                entry["lfs"]["pointerSize"] = 130
            yield entry


class _Handler(Answers, http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        hub = self.server.hub
        hub.requests.append(self.path)
        path = urllib.parse.urlsplit(self.path).path.strip("/")
        user, model, *rest = path.removeprefix("api/models/").split("/")
        repository = f"{user}/{model}"
        if repository not in hub.repositories:
            self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif path.startswith("api/") and rest[:1] == ["tree"]:
            self.send_json([*hub.tree(repository)])
        elif path.startswith("api/"):
            self.send_json(hub.describe(repository))
        else:
            name = "/".join(rest[2:])
            content = hub.repositories[repository][name]
            headers = {"ETag": f'"{_hash_of(content)}"', "X-Repo-Commit": hub.commit}
            damage = hub.damage.get(name, lambda content: content)
            self.send(200, content, headers, damage(content))

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self):
        hub = self.server.hub
        hub.requests.append(self.path)
        body = self.body()
        path = urllib.parse.urlsplit(self.path).path
        address = f"http://{self.headers['Host']}"
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.send_json({"error": "Invalid credentials"}, 401)
        elif path == "/api/repos/create":
            stated = json.loads(body)
            repository = f"{stated['organization']}/{stated['name']}"
            hub.repositories.setdefault(repository, {})
            self.send_json({"url": f"{address}/{repository}"})
        elif "/preupload/" in path:
            files = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                for file in json.loads(body)["files"]
            ]
            self.send_json({"files": files})
        else:
            repository = "/".join(path.split("/")[3:5])
            hub.write(repository, body.splitlines())
            commit = f"{address}/{repository}/commit/{hub.commit}"
            self.send_json({"commitUrl": commit, "commitOid": hub.commit})


@contextlib.contextmanager
def serving(hub):
    """Serves a `Hub` in this context; gives its address."""
    with served(_Handler, hub=hub) as address:
        yield address
