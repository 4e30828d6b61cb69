"""Keeps this machine's paths out of answers: a project's become relative, others are hidden."""

import os.path
import re
from collections.abc import Iterable
from pathlib import PurePosixPath

HIDDEN = "<host>"
"""Stands for a path outside the project."""

_SYSTEM_TOPS = ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys")
_OTHER_TOPS = (
    "data",
    "home",
    "media",
    "mnt",
    "nix",
    "opt",
    "private",
    "root",
    "snap",
    "srv",
    "tmp",
)
_MORE_TOPS = ("usr", "var", "Applications", "Library", "System", "Users", "Volumes")
_PART = r"""[^\s/'"`<>|*?:;,()\[\]{}\\]"""
_LIBRARY = re.compile(r"/(?:lib(?:64)?/python3?(?:\.\d+)?/)?((?:site|dist)-packages/.+)$")
_STANDARD = re.compile(r"/lib(?:64)?/(python3?\.\d+/.+)$")


class PathMask:
    """What may be shown of text that others wrote."""

    def __init__(
        self, root: PurePosixPath, *, tops: Iterable[str] = (), known: Iterable[str] = ()
    ) -> None:
        """Make one.

        Args:
            root: The project's folder, absolute and resolved.
            tops: Names of folders in `/`, besides the usual ones.
            known: Absolute paths whose parts may hold spaces: the home of the user, say.
        """
        self._root = str(root)
        self._tops = frozenset({*_SYSTEM_TOPS, *_OTHER_TOPS, *_MORE_TOPS, *tops, *root.parts[1:2]})
        tops_pattern = "|".join(sorted(map(re.escape, self._tops)))
        paths = [re.escape(path) for path in sorted(known, key=len, reverse=True) if len(path) > 1]
        paths.append(rf"/(?:{tops_pattern})/")
        own = re.escape(self._root)
        self._own = re.compile(rf"(?<![\w.-])/*{own}(?:/(?={_PART})|(?:/|(?![\w.-])))")
        self._host = re.compile(rf"(?<![\w.>-])/*(?:{'|'.join(paths)})(?:{_PART}|/)*")
        self._upwards = re.compile(rf"(?<![\w./-])(?:\.\./)+(?:{_PART}|/)*")

    def text(self, text: str) -> str:
        """The text with no path of this machine in it that leads out of the project."""
        if "/" not in text:
            return text
        if len(self._root) > 1:
            text = self._own.sub(_relative, text)
        text = self._upwards.sub(self._hide_upwards, text)
        return self._host.sub(lambda found: _masked(found[0]), text)

    def value(self, value: object) -> object:
        """A JSON value with every string in it masked, but for the ids of tests."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {
                key: item if key in ("nodeid", "node_id") else self.value(item)
                for key, item in value.items()
            }
        return value

    def _hide_upwards(self, found: re.Match[str]) -> str:
        """Pytest shows files outside its root from there; a test may just print dots."""
        path = os.path.normpath(f"{self._root}/{found[0]}")
        top = PurePosixPath(path).parts[1:2]
        inside = path == self._root or path.startswith(f"{self._root}/")
        return found[0] if inside or not self._tops.issuperset(top) else _masked(path)


def _relative(found: re.Match[str]) -> str:
    return "" if found[0].endswith("/") and not _ends_path(found) else "."


def _ends_path(found: re.Match[str]) -> bool:
    """Whether nothing of a path follows."""
    return re.match(_PART, found.string[found.end() :][:1]) is None


def _masked(path: str) -> str:
    """Which library a file is of says nothing about the machine."""
    library = _LIBRARY.search(path) or _STANDARD.search(path)
    return HIDDEN if library is None else f"{HIDDEN}/{library[1]}"
