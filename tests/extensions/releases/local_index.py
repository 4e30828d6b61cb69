"""A package index on this machine, of releases that a test packs."""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agentbench.extensions.releases.package_index import PackageIndex, PipSettings
from tests.extensions.releases.archives import tar_of

OLD = {
    "PKG-INFO": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
    "demo.py": '__version__ = "1.0"\n\n\ndef last(items):\n    return items[-2]\n',
    "test_demo.py": "import demo\n\n\ndef test_version():\n    assert demo.__version__\n",
    "CHANGES.md": "## 1.0\n\n- first\n",
}
NEW = {
    "PKG-INFO": "Metadata-Version: 2.1\nName: demo\nVersion: 1.1\n",
    "demo.py": '__version__ = "1.1"\n\n\ndef last(items):\n    return items[-1]\n',
    "test_demo.py": (
        "import demo\n\n\ndef test_version():\n    assert demo.__version__\n\n\n"
        "def test_the_last_item_is_given():\n    assert demo.last([1, 2, 3]) == 3\n"
    ),
    "CHANGES.md": "## 1.1\n\n- `last` gave the last but one.\n\n## 1.0\n\n- first\n",
}
"""Two releases of a package that needs nothing to be installed."""


class _Quiet(SimpleHTTPRequestHandler):
    extensions_map = {".html": "application/vnd.pypi.simple.v1+json"}  # noqa: RUF012

    def log_message(self, *_said: object) -> None:
        """Say nothing."""


@dataclass
class LocalIndex:
    """The folder that is served, and the client that asks for it."""

    folder: Path
    client: PackageIndex
    files: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, package: str, version: str, files: Mapping[str, str], **more: object) -> None:
        """Publish a release; `more` are fields of its entry in the index."""
        name = f"{package}-{version}.tar.gz"
        inner = {f"{package}-{version}/{path}": text for path, text in files.items()}
        self.publish(package, name, tar_of(self.folder / name, inner).read_bytes(), **more)

    def publish(self, package: str, name: str, content: bytes, **more: object) -> None:
        """Publish a file of any name and content."""
        (self.folder / name).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        entry = {"filename": name, "url": f"../../{name}", "hashes": {"sha256": digest}, **more}
        self.files.setdefault(package, []).append(entry)
        page = {"meta": {"api-version": "1.0"}, "name": package, "files": self.files[package]}
        place = self.folder / "simple" / package
        place.mkdir(parents=True, exist_ok=True)
        (place / "index.html").write_text(json.dumps(page))


@contextmanager
def local_index(folder: Path) -> Iterator[LocalIndex]:
    """Serve a folder until the end of the block."""
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}/simple/"
    try:
        with PackageIndex(PipSettings(index=address)) as client:
            yield LocalIndex(folder, client)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
