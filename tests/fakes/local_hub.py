"""A Hugging Face Hub on this machine, with the paths and headers that its client asks for."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

_INFO = re.compile(r"/api/datasets/([^/]+/[^/]+)(?:/revision/(.+))?")
_TREE = re.compile(r"/api/datasets/([^/]+/[^/]+)/tree/([^/]+)")
_FILE = re.compile(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")


def commit_of(files: dict[str, bytes]) -> str:
    """The commit of some files."""
    return hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()


@dataclass
class LocalHub:
    """Its data sets, its failures, and what it was asked for."""

    url: str = ""
    datasets: dict[str, dict[str, dict[str, bytes]]] = field(default_factory=dict)
    """The files of each revision, by the data set's name."""
    gated: set[str] = field(default_factory=set)
    token: str = ""  # opens gated data sets
    status: int = 0  # answers everything, if set
    cuts: int = 0  # as many downloads end after half of their bytes
    held: str = ""  # the file whose download waits for `release`
    release: threading.Event = field(default_factory=threading.Event)
    asked: list[tuple[str, str, str]] = field(default_factory=list)  # method, path, range

    def add(self, name: str, files: dict[str, bytes], *revisions: str) -> str:
        """Publish files as some revisions, and as their commit."""
        commit = commit_of(files)
        known = self.datasets.setdefault(name, {})
        known.update(dict.fromkeys((commit, *(revisions or ("main",))), files))
        return commit


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def handle(self) -> None:
        with suppress(ConnectionError):  # of a client that was killed
            super().handle()

    def log_message(self, *_said: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        hub: LocalHub = self.server.hub
        path = unquote(urlsplit(self.path).path)
        hub.asked.append((self.command, path, self.headers.get("Range", "")))
        if hub.status:
            self._answer(hub.status, b"<html>")
        elif found := _TREE.fullmatch(path):
            self._tree(found[1], found[2])
        elif found := _FILE.fullmatch(path):
            self._file(found[1], found[2], found[3])
        elif found := _INFO.fullmatch(path):
            if (files := self._files(found[1], found[2] or "main")) is not None:
                sha = commit_of(files)
                names = [{"rfilename": name} for name in files]
                self._json({"id": found[1], "sha": sha, "siblings": names})
        else:
            self._answer(404, b"{}")

    def _files(self, name: str, revision: str) -> dict[str, bytes] | None:
        """The files of a revision; answers with an error if there are none."""
        hub: LocalHub = self.server.hub
        if name not in hub.datasets:
            self._answer(401, b"{}", **{"X-Error-Code": "RepoNotFound"})
        elif name in hub.gated and self.headers.get("Authorization") != f"Bearer {hub.token}":
            self._answer(403, b"{}", **{"X-Error-Code": "GatedRepo"})
        elif revision not in hub.datasets[name]:
            self._answer(404, b"{}", **{"X-Error-Code": "RevisionNotFound"})
        else:
            return hub.datasets[name][revision]
        return None

    def _tree(self, name: str, revision: str) -> None:
        if (files := self._files(name, revision)) is not None:
            self._json(
                [
                    {"type": "file", "path": path, "size": len(each), "oid": _etag(each)}
                    for path, each in files.items()
                ]
            )

    def _file(self, name: str, revision: str, path: str) -> None:
        hub: LocalHub = self.server.hub
        files = self._files(name, revision)
        if files is None:
            return
        if path not in files:
            self._answer(404, b"", **{"X-Error-Code": "EntryNotFound"})
            return
        content = files[path]
        headers = {
            "ETag": f'"{_etag(content)}"',
            "X-Repo-Commit": commit_of(files),
            "X-Linked-Size": str(len(content)),
            "Accept-Ranges": "bytes",
        }
        start = 0
        if asked := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            start = int(asked[1])
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        cut = self.command == "GET" and path.endswith((".parquet", "l")) and hub.cuts > 0
        hub.cuts -= cut
        if self.command == "GET" and path == hub.held:
            hub.release.wait()
        self._answer(206 if asked else 200, content[start:], cut=cut, **headers)

    def _json(self, value: object) -> None:
        self._answer(200, json.dumps(value).encode(), **{"Content-Type": "application/json"})

    def _answer(self, status: int, body: bytes, *, cut: bool = False, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut


def _etag(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@contextmanager
def local_hub() -> Iterator[LocalHub]:
    """A Hub that answers until the block ends."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    hub = server.hub = LocalHub(url=f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hub
    finally:
        hub.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
