"""Each Python gets the newest pip and pytest that run on it, and what this pytest requires."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from agentbench.errors import SandboxError, UnavailableError, UsageError
from agentbench.sandbox import python_stacks
from agentbench.sandbox.docker import images
from agentbench.sandbox.docker.engine import DockerNotFoundError, ImageFacts
from agentbench.sandbox.python_stacks import DEFAULT_PYTHON, STACKS, installers_of, stack_for
from agentbench.sandbox.toolchains import SUITES

# The package index's releases of November 2026: the newest for each Python, and their metadata.
RELEASES = {
    "pip": {
        "21.3.1": ">=3.6",
        "24.0": ">=3.7",
        "25.0.1": ">=3.8",
        "26.0.1": ">=3.9",
        "26.3": ">=3.10",
    },
    "pytest": {
        "7.0.1": ">=3.6",
        "7.4.4": ">=3.7",
        "8.3.5": ">=3.8",
        "8.4.2": ">=3.9",
        "9.2.0": ">=3.10",
    },
    "iniconfig": {"1.1.1": "", "2.0.0": ">=3.7", "2.1.0": ">=3.8", "2.3.1": ">=3.10"},
    "packaging": {"21.3": ">=3.6", "24.0": ">=3.7", "26.2": ">=3.8", "26.3": ">=3.9"},
    "pluggy": {
        "1.0.0": ">=3.6",
        "1.2.0": ">=3.7",
        "1.5.0": ">=3.8",
        "1.6.0": ">=3.9",
        "1.7.0": ">=3.10",
    },
    "pygments": {"2.14.0": ">=3.6", "2.17.2": ">=3.7", "2.19.2": ">=3.8", "2.21.0": ">=3.9"},
    "exceptiongroup": {"0": "", "1.3.2": ">=3.7"},
    "tomli": {"1.2.3": ">=3.6", "2.0.1": ">=3.7", "2.5.0": ">=3.8"},
    "typing-extensions": {
        "4.1.1": ">=3.6",
        "4.7.1": ">=3.7",
        "4.13.2": ">=3.8",
        "4.16.0": ">=3.9",
    },
    "importlib-metadata": {"4.8.3": ">=3.6", "6.7.0": ">=3.7"},
    "zipp": {"3.6.0": ">=3.6", "3.15.0": ">=3.7"},
    "attrs": {"22.2.0": ">=3.6", "24.2.0": ">=3.7"},
    "py": {"1.11.0": ">=2.7"},
    "pyparsing": {"3.0.7": ">=3.6", "3.1.4": ">=3.6.8"},
}
REQUIRES = {
    "pytest==7.0.1": (
        "attrs>=19.2.0",
        "iniconfig",
        "packaging",
        "pluggy<2.0,>=0.12",
        "py>=1.8.2",
        "tomli>=1.0.0",
        "importlib-metadata>=0.12; python_version < '3.8'",
    ),
    "pytest==7.4.4": (
        "iniconfig",
        "packaging",
        "pluggy<2.0,>=0.12",
        "exceptiongroup>=1.0.0rc8; python_version < '3.11'",
        "tomli>=1.0.0; python_version < '3.11'",
        "importlib-metadata>=0.12; python_version < '3.8'",
    ),
    "packaging==21.3": ("pyparsing!=3.0.5,>=2.0.2",),
    "importlib-metadata==4.8.3": (
        "zipp>=0.5",
        "typing-extensions>=3.6.4; python_version < '3.8'",
    ),
    "importlib-metadata==6.7.0": (
        "zipp>=0.5",
        "typing-extensions>=3.6.4; python_version < '3.8'",
    ),
    "pytest==8.3.5": (
        "exceptiongroup>=1.0.0rc8; python_version < '3.11'",
        "iniconfig",
        "packaging",
        "pluggy<2,>=1.5",
        "tomli>=1; python_version < '3.11'",
    ),
    "pytest==8.4.2": (
        "exceptiongroup>=1; python_version < '3.11'",
        "iniconfig>=1",
        "packaging>=20",
        "pluggy<2,>=1.5",
        "pygments>=2.7.2",
        "tomli>=1; python_version < '3.11'",
    ),
    "pytest==9.2.0": (
        "exceptiongroup>=1; python_version < '3.11'",
        "iniconfig>=2",
        "packaging>=24",
        "pluggy<2,>=1.6",
        "pygments>=2.15",
        "tomli>=2; python_version < '3.11'",
    ),
    "exceptiongroup==1.3.2": ("typing-extensions>=4.6.0; python_version < '3.13'",),
}


INSTALLERS = {"pip", "setuptools", "wheel"}


def pins(python: str) -> dict[str, Version]:
    parsed = [Requirement(text) for text in stack_for(python)]
    return {each.name: Version(str(each.specifier).removeprefix("==")) for each in parsed}


@pytest.mark.parametrize("python", STACKS)
def test_installers_know_editable_installs_of_setup_py(python: str) -> None:
    found = {name: pin for name, pin in pins(python).items() if name in INSTALLERS}
    assert found.keys() == INSTALLERS
    assert found["pip"] < Version("25.3")
    assert found["setuptools"] < Version("80")
    assert [f"{name}=={pin}" for name, pin in found.items()] == list(installers_of(python))


@pytest.mark.parametrize("python", STACKS)
def test_every_pin_is_the_newest_release_that_the_python_runs(python: str) -> None:
    newest = {
        name: max(
            Version(version)
            for version, requires in releases.items()
            if SpecifierSet(requires).contains(f"{python}.0")
        )
        for name, releases in RELEASES.items()
    }
    found = {name: pin for name, pin in pins(python).items() if name not in INSTALLERS}
    assert found == {name: newest[name] for name in found}


@pytest.mark.parametrize("python", STACKS)
def test_every_requirement_is_met_and_nothing_else_is_installed(python: str) -> None:
    found, needed = pins(python), {*INSTALLERS, "pytest"}
    for pin in stack_for(python):
        for requirement in map(Requirement, REQUIRES.get(pin, ())):
            if requirement.marker is None or requirement.marker.evaluate(
                {"python_version": python, "python_full_version": f"{python}.0"}
            ):
                name = canonicalize_name(requirement.name)
                assert requirement.specifier.contains(found[name])
                needed.add(name)
    assert set(found) == needed


def test_every_supported_python_has_requirements() -> None:
    assert list(STACKS) == [f"3.{minor}" for minor in range(6, 15)]
    assert {DEFAULT_PYTHON, *SUITES} <= set(STACKS)


@pytest.mark.parametrize("python", ["2.7", "3.5", "3.15", "3.11.4", "3", "", "newest"])
def test_a_python_without_a_stack_is_refused_in_one_line(python: str) -> None:
    supported = "3.6, 3.7, 3.8, 3.9, 3.10, 3.11, 3.12, 3.13, 3.14"
    with pytest.raises(UsageError) as refused:
        stack_for(python)
    assert str(refused.value) == f"no base image has Python {python!r}: use one of {supported}"


class EngineWith:
    """An engine that has base images and reaches no registry."""

    def __init__(self, *pythons: str) -> None:
        self.pythons = pythons

    def image(self, name: str) -> ImageFacts:
        repository, _, python = name.rpartition(":")
        if repository == python_stacks.BASE_IMAGES and python in self.pythons:
            return ImageFacts(id=f"id-{python}", env=(), labels={})
        raise DockerNotFoundError(name)

    @contextmanager
    def api(self, doing: str, **_options: bool) -> Iterator[SimpleNamespace]:
        if doing != "list images":
            raise SandboxError("the registry does not answer")
        yield SimpleNamespace(images=lambda *_, **__: [_listed(each) for each in self.pythons])


def _listed(python: str) -> dict[str, object]:
    name = python_stacks.base_image_name(python)
    return {"Id": f"id-{python}", "RepoTags": [name], "Labels": {"agentbench.python": python}}


def test_default_image_does_not_depend_on_later_builds() -> None:
    assert images.resolve_image(EngineWith("3.11"), None) == "id-3.11"
    assert images.resolve_image(EngineWith("3.9", "3.11", "3.13", "3.14"), None) == "id-3.11"


def test_missing_default_image_is_not_replaced() -> None:
    with pytest.raises(UnavailableError) as refused:
        images.resolve_image(EngineWith("3.13"), None)
    assert str(refused.value) == (
        "the base image agentbench/python:3.11 is not built (built: 3.13): "
        "run `agentbench images build --python 3.11`"
    )


def test_a_python_without_base_images_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(UnavailableError, match=r"base images exist for Python 3\.6, .*, 3\.14$"):
        images.resolve_image(EngineWith("3.11"), "agentbench/python:3.5")


@pytest.mark.parametrize(
    ("python", "remedy"),
    [("3.12", "Debian's packages have Python 3.9, 3.11, 3.13."), ("3.8", "reach a registry")],
)
def test_failed_base_image_lists_the_attempts(python: str, remedy: str) -> None:
    with pytest.raises(UnavailableError) as refused:
        images.build_base_image(EngineWith(), python)
    reported = str(refused.value)
    assert reported.startswith(
        f"cannot build a base image with Python {python}. Attempts:\n  slim-{python}"
    )
    assert remedy in reported
