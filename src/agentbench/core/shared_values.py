"""Values read from files, of which all concurrent users share one copy."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

V = TypeVar("V")
_Version = tuple[str, int, int, int, int]


class SharedValues(Generic[V]):
    """Values read from files. A value is kept as long as somebody uses it and its files stay.

    Safe to use from several threads. The values must support weak references.
    """

    def __init__(self) -> None:
        self._known: WeakValueDictionary[tuple[_Version, ...], V] = WeakValueDictionary()

    def get(self, files: Sequence[Path], read: Callable[[], V]) -> V:
        """The value of some files, which is read only if nobody has it, or if they changed.

        Raises:
            OSError: a file cannot be found; `read` may raise more.
        """
        versions = tuple(map(_version_of, files))
        found = self._known.get(versions)
        if found is None:
            found = self._known[versions] = read()
        return found


def _version_of(file: Path) -> _Version:
    status = file.stat()
    return str(file), status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
