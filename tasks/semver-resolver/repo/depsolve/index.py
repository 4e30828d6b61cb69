"""The packages that there are, and what each version of them requires."""

import json
from collections.abc import Mapping
from pathlib import Path

from depsolve.ranges import Range
from depsolve.version import Version

Requirements = dict[str, Range]


class UnknownPackage(KeyError):
    """A package that the index does not list."""

    def __str__(self) -> str:
        return f"no package {self.args[0]!r} in the index"


class Index:
    """Packages by name, each with its versions from newest to oldest."""

    def __init__(self) -> None:
        self._packages: dict[str, dict[Version, Requirements]] = {}

    @classmethod
    def from_mapping(cls, listing: Mapping[str, Mapping[str, Mapping[str, str]]]) -> "Index":
        """Build an index from names, versions and requirements as text."""
        index = cls()
        for name, versions in listing.items():
            for version, requirements in versions.items():
                index.add(name, version, requirements)
        return index

    @classmethod
    def from_file(cls, path: Path) -> "Index":
        """Read an index from a JSON file."""
        return cls.from_mapping(json.loads(path.read_text(encoding="utf-8")))

    def add(self, name: str, version: str, requirements: Mapping[str, str] | None = None) -> None:
        """List one version of a package; a version listed twice keeps its last requirements."""
        parsed = {other: Range.parse(text) for other, text in (requirements or {}).items()}
        self._packages.setdefault(name, {})[Version.parse(version)] = parsed

    def versions(self, name: str) -> list[Version]:
        """Return all versions of a package, newest first.

        Raises:
            UnknownPackage: The index does not list the package.
        """
        if name not in self._packages:
            raise UnknownPackage(name)
        return sorted(self._packages[name], reverse=True)

    def newest(self, name: str, wanted: Range) -> Version | None:
        """Return the newest version in a range, or None where no version is."""
        return next((each for each in self.versions(name) if wanted.admits(each)), None)

    def requirements(self, name: str, version: Version) -> Requirements:
        """Return what one version of a package requires."""
        return self._packages[name][version]
