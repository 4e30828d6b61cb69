"""Parses requested releases, from the command line or from the lines of a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from agentbench.errors import InputError
from agentbench.tasks.dataset_rows import Rejection

_MAX_BYTES = 1 << 20
_EXPECTED = "expected PACKAGE [[OLD] NEW]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedReleases:
    """A package and two of its releases."""

    package: str  # its normalised name
    old: Version | None = None  # None: the one before `new`
    new: Version | None = None  # None: the newest

    def __str__(self) -> str:
        return " ".join(str(part) for part in (self.package, self.old, self.new) if part)


def parse_requested_releases(words: Sequence[str]) -> RequestedReleases:
    """Parse `PACKAGE`, `PACKAGE NEW` or `PACKAGE OLD NEW`.

    Raises:
        InputError: the name or a version is invalid, or the versions are in the wrong order.
    """
    if not 1 <= len(words) <= 3:
        raise InputError(f"{_EXPECTED}, found {len(words)} words")
    try:
        package = canonicalize_name(words[0], validate=True)
    except InvalidName:
        raise InputError(
            f"package: expected a name on the index, as in `requests`, found {words[0]!r}"
        ) from None
    versions = [_version(word) for word in words[1:]]
    old, new = versions[0] if len(versions) == 2 else None, versions[-1] if versions else None
    if old is not None and new is not None and old >= new:
        raise InputError(f"version: expected the older one first, found {old} and {new}")
    return RequestedReleases(package=package, old=old, new=new)


def read_requested_releases(path: Path) -> tuple[list[RequestedReleases], list[Rejection]]:
    """Parse the lines of a file in the form of the command line, and collect the faults.

    Empty lines and comments after a `#` are ignored.
    """
    wanted: dict[RequestedReleases, None] = {}
    refused = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            pair = parse_requested_releases(words)
        except InputError as error:
            refused.append(Rejection(where=f"{path}:{number}", what=str(error)))
            continue
        if pair in wanted:
            refused.append(Rejection(where=f"{path}:{number}", what=f"{pair} is asked for twice"))
        wanted[pair] = None
    if not wanted and not refused:
        raise InputError(f"{path}: {_EXPECTED} on each line, found none")
    return list(wanted), refused


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(
                f"{path}: expected a list of packages, found {_MAX_BYTES} bytes or more"
            )
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text: {error}") from None


def _version(word: str) -> Version:
    try:
        return Version(word)
    except InvalidVersion:
        raise InputError(f"version: expected one as in `1.2.3`, found {word!r}") from None
