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
import time
from collections.abc import Callable
from typing import Any

MAX_FILES = 50_000
"""The most files of a folder that are scanned."""
MAX_DEPTH = 40
MAX_FILE = 1 << 20
"""The most bytes of a file that is kept; of a larger one only its change is known."""
MAX_BYTES = 16 << 20
"""The most bytes that one scan reads; the next one reads the rest."""
SKIPPED = frozenset(
    {".git", ".hg", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}
    | {"node_modules", ".tox", ".nox", ".venv"}
)
"""Folders of caches and histories."""
_TICK = 20_000_000  # nanoseconds; kernels before 6.13 count a file's times in steps of 1 to 10 ms
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Changes:
    """The changes below one folder, scan by scan."""

    def __init__(
        self,
        root: str,
        known: dict[str, list[int]] | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        """Go on from the marks that others know; without them, the first scan only remembers."""
        self._root = root
        self._known = known
        self._clock = clock
        self._begin()

    def _begin(self) -> None:
        self._recent = self._clock() - _TICK
        self._found: dict[str, list[int]] = {}
        self._files: dict[str, list[Any]] = {}
        self._special: list[str] = []
        self._bytes = 0
        self._has_more = False

    def scan(self) -> dict[str, Any]:
        """What changed since the last scan.

        Returns:
            `files`: by path, a list of the content in base64 (null: too large or unreadable) and
            whether the file is executable. `special`: paths of links, pipes and the like that are
            new or changed. `removed`: paths. `marks`: the marks of all that is new or changed.
            `truncated`: whether there are more files than are scanned. `has_more`: whether there
            are more bytes than one scan reads, so that the next one goes on.
        """
        self._begin()
        try:
            self._folder(os.open(self._root, _READ | os.O_DIRECTORY), "", 0)
        except OSError:
            return self._answer([], {}, truncated=True)
        known = self._known or {}
        is_full = len(self._found) >= MAX_FILES
        removed = [] if is_full else sorted(known.keys() - self._found.keys())
        marks = {path: mark for path, mark in self._found.items() if known.get(path) != mark}
        self._known = self._found
        return self._answer(removed, marks, truncated=is_full)

    def _answer(
        self, removed: list[str], marks: dict[str, list[int]], *, truncated: bool
    ) -> dict[str, Any]:
        return {
            "files": self._files,
            "special": self._special,
            "removed": removed,
            "marks": marks,
            "truncated": truncated,
            "has_more": self._has_more,
        }

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
            entry.name.encode()  # JSON has no other names, and the harness refuses them as well
            facts = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(facts.st_mode):
                if entry.name not in SKIPPED and depth < MAX_DEPTH:
                    inner = os.open(entry.name, _READ | os.O_DIRECTORY, dir_fd=folder)
                    self._folder(inner, f"{prefix}{entry.name}/", depth + 1)
                return
        except (OSError, UnicodeError):  # it is gone, or not for us
            return
        path = prefix + entry.name
        # A change in the same tick as this scan would leave all times as they are, so that the next
        # scan has to read the file again.
        changed_at = facts.st_ctime_ns if facts.st_ctime_ns < self._recent else 0
        times = (facts.st_mtime_ns, changed_at)
        mark = [*times, facts.st_size, facts.st_mode, facts.st_ino]
        before = self._known.get(path) if self._known is not None else mark
        if before == mark and (changed_at or self._known is None):
            self._found[path] = mark
        elif not stat.S_ISREG(facts.st_mode):
            self._found[path] = mark
            self._special.append(path)
        elif self._bytes < MAX_BYTES:
            self._found[path] = mark
            self._files[path] = [self._content(folder, entry.name), bool(facts.st_mode & 0o100)]
        else:  # it stays changed, for the next scan
            self._has_more = True
            if before is not None:
                self._found[path] = before

    def _content(self, folder: int, name: str) -> str | None:
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
