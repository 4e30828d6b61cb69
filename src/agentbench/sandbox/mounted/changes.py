"""Finds the files of a folder that changed since the last scan, by their metadata.

In a container it runs beside the agent's command and answers on its streams; for a sandbox that is
a folder of this machine, the harness calls `Changes` itself. Standard library only.

Everything in the folder is hostile: no link is followed, and only regular files are read.
"""

from __future__ import annotations

import base64
import json
import os
import stat
import sys
from typing import Any

MAX_FILES = 50_000
"""The most files of a folder that are scanned."""
MAX_DEPTH = 40
MAX_FILE = 1 << 20
"""The most bytes of a file that is kept; of a larger one only its change is known."""
MAX_BYTES = 16 << 20
"""The most bytes that one scan reads."""
SKIPPED = frozenset(
    {".git", ".hg", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}
    | {"node_modules", ".tox", ".nox", ".venv"}
)
"""Folders of caches and histories."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Changes:
    """The changes below one folder, scan by scan."""

    def __init__(self, root: str, known: dict[str, list[int]] | None = None) -> None:
        """Go on from the marks that others know; without them, the first scan only remembers."""
        self._root = root
        self._known = known
        self._found: dict[str, list[int]] = {}
        self._files: dict[str, list[Any]] = {}
        self._bytes = 0

    def scan(self) -> dict[str, Any]:
        """What changed since the last scan.

        Returns:
            `files`: by path, a list of the content in base64 (null: too large or unreadable) and
            whether the file is executable. `removed`: paths. `marks`: the marks of files that are
            new or changed. `truncated`: whether there are more files, or more bytes, than one scan
            may read.
        """
        self._found, self._files, self._bytes = {}, {}, 0
        try:
            self._folder(os.open(self._root, _READ | os.O_DIRECTORY), "", 0)
        except OSError:
            return {"files": {}, "removed": [], "marks": {}, "truncated": True}
        known = self._known or {}
        is_full = len(self._found) >= MAX_FILES
        removed = [] if is_full else sorted(known.keys() - self._found.keys())
        marks = {path: mark for path, mark in self._found.items() if known.get(path) != mark}
        self._known = self._found
        truncated = is_full or self._bytes >= MAX_BYTES
        return {"files": self._files, "removed": removed, "marks": marks, "truncated": truncated}

    def _folder(self, descriptor: int, prefix: str, depth: int) -> None:
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    if len(self._found) >= MAX_FILES:
                        return
                    self._entry(descriptor, entry, prefix, depth)
        except OSError:  # the folder is being removed
            pass
        finally:
            os.close(descriptor)

    def _entry(self, folder: int, entry: os.DirEntry[str], prefix: str, depth: int) -> None:
        try:
            facts = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(facts.st_mode):
                if entry.name not in SKIPPED and depth < MAX_DEPTH:
                    inner = os.open(entry.name, _READ | os.O_DIRECTORY, dir_fd=folder)
                    self._folder(inner, f"{prefix}{entry.name}/", depth + 1)
                return
        except OSError:  # it is gone, or not for us
            return
        if not stat.S_ISREG(facts.st_mode):
            return
        path = prefix + entry.name
        times = (facts.st_mtime_ns, facts.st_ctime_ns)
        mark = [*times, facts.st_size, facts.st_mode, facts.st_ino]
        self._found[path] = mark
        if self._known is not None and self._known.get(path) != mark:
            self._files[path] = [self._content(folder, entry.name), bool(facts.st_mode & 0o100)]

    def _content(self, folder: int, name: str) -> str | None:
        if self._bytes >= MAX_BYTES:
            return None
        try:
            descriptor = os.open(name, _READ, dir_fd=folder)
        except OSError:
            return None
        content = b""
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # it is another file by now
                return None
            while len(content) <= MAX_FILE:
                chunk = os.read(descriptor, 1 << 16)
                if not chunk:
                    break
                content += chunk
        except OSError:
            return None
        finally:
            os.close(descriptor)
        self._bytes += len(content)
        return base64.b64encode(content).decode() if len(content) <= MAX_FILE else None


def serve(root: str) -> None:
    """Answer each line on stdin with a scan: its length in 8 bytes, then its JSON.

    The first line is the JSON of the known marks, or null.
    """
    changes = None
    for line in sys.stdin.buffer:
        if changes is None:
            changes = Changes(root, json.loads(line))
        answer = json.dumps(changes.scan()).encode()
        sys.stdout.buffer.write(len(answer).to_bytes(8, "big") + answer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
