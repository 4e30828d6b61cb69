"""Removes this machine's paths from answers: a project's become relative, others are masked."""

import os.path
import re
from collections.abc import Iterable
from pathlib import PurePosixPath

HIDDEN = "<host>"  # the replacement of a path outside the project
_TOPS = (
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "data",
    "home", "media", "mnt", "nix", "opt", "private", "root", "snap", "srv", "tmp", "usr", "var",
    "Applications", "Library", "System", "Users", "Volumes",
)  # fmt: skip
_PART = r"""[^\s/'"`<>|*?:;,()\[\]{}\\]"""
_LIBRARY = re.compile(r"/(?:lib(?:64)?/python3?(?:\.\d+)?/)?((?:site|dist)-packages/.+)$")
_STANDARD = re.compile(r"/lib(?:64)?/(python3?\.\d+/.+)$")


class PathMask:
    """Masks paths in text.

    `root` is the project's folder, absolute and resolved. `tops` are more names of folders in `/`,
    and `known` absolute paths that may contain spaces, such as the user's home.
    """

    def __init__(
        self, root: PurePosixPath, *, tops: Iterable[str] = (), known: Iterable[str] = ()
    ) -> None:
        self._root = str(root)
        self._tops = frozenset({*_TOPS, *tops, *root.parts[1:2]})
        tops_pattern = "|".join(sorted(map(re.escape, self._tops)))
        paths = [re.escape(path) for path in sorted(known, key=len, reverse=True) if len(path) > 1]
        paths.append(rf"/(?:{tops_pattern})/")
        own = re.escape(self._root)
        self._own = re.compile(rf"(?<![\w.-])/*{own}(?:/(?={_PART})|(?:/|(?![\w.-])))")
        self._host = re.compile(rf"(?<![\w.>-])/*(?:{'|'.join(paths)})(?:{_PART}|/)*")
        self._upwards = re.compile(rf"(?<![\w./-])(?:\.\./)+(?:{_PART}|/)*")

    def text(self, text: str) -> str:
        """The text without paths outside of the project."""
        if "/" not in text:
            return text
        if len(self._root) > 1:
            text = self._own.sub(_relative, text)
        text = self._upwards.sub(self._hide_upwards, text)
        return self._host.sub(lambda found: _masked(found[0]), text)

    def value(self, value: object) -> object:
        """A JSON value with all strings masked, except ids of tests."""
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
        """Mask a relative path out of the project, as pytest prints it; plain dots stay."""
        path = os.path.normpath(f"{self._root}/{found[0]}")
        top = PurePosixPath(path).parts[1:2]
        inside = path == self._root or path.startswith(f"{self._root}/")
        return found[0] if inside or not self._tops.issuperset(top) else _masked(path)


def _relative(found: re.Match[str]) -> str:
    goes_on = re.match(_PART, found.string[found.end() :][:1]) is not None
    return "" if found[0].endswith("/") and goes_on else "."


def _masked(path: str) -> str:
    """Keep the part after site-packages, which says nothing about the machine."""
    library = _LIBRARY.search(path) or _STANDARD.search(path)
    return HIDDEN if library is None else f"{HIDDEN}/{library[1]}"
