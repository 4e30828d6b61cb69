"""What a project's own files say it needs: requirements, groups of them, and Python versions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

_FOR_TESTS = re.compile(r"(unit|run)?[-_.]?(py)?tests?(ing)?([-_.].*)?|.*[-_.]tests?|ci")
_FOR_DEVELOPERS = re.compile(r"dev(el|elop|elopers?|elopment)?([-_.].*)?")
_PYTHON = re.compile(r"Programming Language :: Python :: (3\.\d+)$")


class RequirementPurpose(IntEnum):
    """What requirements are for, by how much they tell of running tests."""

    TESTS = 1
    DEVELOPMENT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementGroup:
    """Requirements that are written down in one place, for tests or for those who develop."""

    where: str
    """As in "extra `test` of pyproject.toml"."""
    purpose: RequirementPurpose
    extras: tuple[str, ...] = ()
    """The project's own extras that bring them."""
    files: tuple[str, ...] = ()
    """The requirement files that hold them."""
    requirements: tuple[str, ...] = ()
    """What else is to be installed, by name."""
    known_requirements: tuple[str, ...] = ()
    """What extras and files are known to bring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectDeclaration:
    """What one file says, or several together."""

    installable: bool = False
    """Whether pip can install the project."""
    requires_python: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    """The versions that classifiers name, as in "3.11"."""
    requirements: tuple[str, ...] = ()
    bundles: tuple[RequirementGroup, ...] = ()
    build_requirements: tuple[str, ...] = ()

    def merged_with(self, other: "ProjectDeclaration") -> "ProjectDeclaration":
        """Both together, this one's first."""
        return ProjectDeclaration(
            installable=self.installable or other.installable,
            requires_python=(*self.requires_python, *other.requires_python),
            pythons=(*self.pythons, *other.pythons),
            requirements=(*self.requirements, *other.requirements),
            bundles=(*self.bundles, *other.bundles),
            build_requirements=(*self.build_requirements, *other.build_requirements),
        )


def purpose_of(name: str) -> RequirementPurpose | None:
    """What an extra, a group or a file of this name is for."""
    lowered = name.lower()
    if _FOR_TESTS.fullmatch(lowered):
        return RequirementPurpose.TESTS
    return RequirementPurpose.DEVELOPMENT if _FOR_DEVELOPERS.fullmatch(lowered) else None


def pythons_of(classifiers: Iterable[str]) -> tuple[str, ...]:
    """The versions of Python that classifiers name."""
    found = (_PYTHON.match(classifier.strip()) for classifier in classifiers)
    return tuple(match.group(1) for match in found if match)


def named_requirements(requirements: Iterable[str]) -> tuple[str, ...]:
    """Those that are requirements at all, by name: no options, no paths, no addresses."""
    return tuple(text.strip() for text in requirements if distribution_of(text))


def distribution_of(requirement: str) -> str | None:
    """The normalised name of what a requirement asks for; None where it is none by name."""
    try:
        parsed = Requirement(requirement)
    except InvalidRequirement:
        return None
    return None if parsed.url else canonicalize_name(parsed.name)
