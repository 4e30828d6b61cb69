"""Versions, as Semantic Versioning 2.0.0 defines them."""

import re
from functools import total_ordering

_NUMBER = r"0|[1-9][0-9]*"
_IDENTIFIER = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    rf"(?P<major>{_NUMBER})\.(?P<minor>{_NUMBER})\.(?P<patch>{_NUMBER})"
    rf"(?:-(?P<pre>{_IDENTIFIER}(?:\.{_IDENTIFIER})*))?"
    r"(?:\+(?P<build>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)


class InvalidVersion(ValueError):
    """A text that is no semantic version."""


@total_ordering
class Version:
    """One version. Ordered by precedence; build metadata is kept but never compared."""

    __slots__ = ("build", "major", "minor", "patch", "pre")

    def __init__(
        self,
        major: int,
        minor: int,
        patch: int,
        pre: tuple[str, ...] = (),
        build: str = "",
    ) -> None:
        self.major = major
        self.minor = minor
        self.patch = patch
        self.pre = pre
        self.build = build

    @classmethod
    def parse(cls, text: str) -> "Version":
        """Read a version such as ``1.4.0-rc.1+sha.5114f85``.

        Raises:
            InvalidVersion: The text does not follow the grammar of semver.org.
        """
        found = _VERSION.fullmatch(text.strip())
        if found is None:
            raise InvalidVersion(f"not a semantic version: {text!r}")
        pre = found["pre"]
        return cls(
            int(found["major"]),
            int(found["minor"]),
            int(found["patch"]),
            tuple(pre.split(".")) if pre else (),
            found["build"] or "",
        )

    @property
    def release(self) -> tuple[int, int, int]:
        """The three numbers, without pre-release and build."""
        return self.major, self.minor, self.patch

    @property
    def is_prerelease(self) -> bool:
        """Whether the version carries pre-release identifiers."""
        return bool(self.pre)

    def compare(self, other: "Version") -> int:
        """Return -1, 0 or 1 as this version precedes, equals or follows the other."""
        if self.release != other.release:
            return -1 if self.release < other.release else 1
        return _compare_prereleases(self.pre, other.pre)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Version):
            return NotImplemented
        return self.compare(other) == 0

    def __lt__(self, other: "Version") -> bool:
        return self.compare(other) < 0

    def __hash__(self) -> int:
        return hash((self.release, self.pre))

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.pre:
            text += "-" + ".".join(self.pre)
        if self.build:
            text += "+" + self.build
        return text

    def __repr__(self) -> str:
        return f"Version({str(self)!r})"


def _compare_prereleases(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    """Compare two lists of identifiers; no identifiers at all rank above any."""
    if not left or not right:
        return bool(right) - bool(left)
    for one, two in zip(left, right):
        outcome = _compare_identifiers(one, two)
        if outcome:
            return outcome
    return (len(left) > len(right)) - (len(left) < len(right))


def _compare_identifiers(left: str, right: str) -> int:
    """Compare one dot-separated identifier with its counterpart."""
    if left.isdigit() and right.isdigit():
        return (int(left) > int(right)) - (int(left) < int(right))
    return (left > right) - (left < right)
