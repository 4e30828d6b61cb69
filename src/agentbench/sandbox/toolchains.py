"""The tools of other languages that a base image can have, with the versions of Debian's releases.

Debian builds, tests and patches these packages together, and they are there without a registry.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from agentbench.errors import UsageError
from agentbench.sandbox.python_stacks import base_image_name

SUITES = {"3.9": "bullseye", "3.11": "bookworm", "3.13": "trixie"}
"""The Debian release that contains a Python, the oldest first."""


class Tool(StrEnum):
    """A value of `--with`."""

    GO = "go"
    JAVA = "java"
    NODE = "node"
    RUST = "rust"


_PACKAGES = {
    # cgo needs a compiler, which Go only recommends.
    Tool.GO: ("golang-go", "gcc", "libc6-dev"),
    # Maven finds Debian's plugins and JUnit in /usr/share/maven-repo, with `mvn -o`.
    Tool.JAVA: (
        "default-jdk-headless", "maven", "ant", "ant-optional", "junit4", "libhamcrest-java",
        "libsurefire-java", "libmaven-compiler-plugin-java", "libmaven-resources-plugin-java",
    ),
    Tool.NODE: ("nodejs", "npm"),
    Tool.RUST: ("cargo", "rustc"),
}  # fmt: skip
_VERSIONS: Mapping[str, Mapping[Tool, str]] = MappingProxyType(
    {
        "bookworm": {Tool.GO: "1.19", Tool.JAVA: "17", Tool.NODE: "18", Tool.RUST: "1.63"},
        "trixie": {Tool.GO: "1.24", Tool.JAVA: "21", Tool.NODE: "20", Tool.RUST: "1.85"},
        "bullseye": {Tool.GO: "1.15", Tool.JAVA: "11", Tool.NODE: "12", Tool.RUST: "1.48"},
    }
)
"""The versions of each release, the preferred release first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """The tools of an image, and the Debian release that has them."""

    suite: str
    versions: tuple[tuple[Tool, str], ...] = ()

    @property
    def packages(self) -> tuple[str, ...]:
        """The names of their packages."""
        return tuple(package for tool, _ in self.versions for package in _PACKAGES[tool])

    def image_name(self, python: str) -> str:
        """The name of the base image with a Python and the tools, such as `…:3.11-go1.19`."""
        tag = "".join(f"-{tool.value}{version}" for tool, version in self.versions)
        return f"{base_image_name(python)}{tag}"


def images_with(tool: Tool) -> tuple[str, ...]:
    """The names of the base images with a tool, the newest Debian release first."""
    return tuple(
        Toolchain(suite=suite, versions=((tool, _VERSIONS[suite][tool]),)).image_name(python)
        for python, suite in reversed(SUITES.items())
    )


def offered_tools() -> str:
    """The tools with their versions, for messages: `go=1.15, 1.19 or 1.24; java=…`."""
    return "; ".join(f"{tool.value}={_either(_versions_of(tool))}" for tool in Tool)


def parse_tools(texts: Iterable[str], python: str) -> Toolchain | None:
    """The tools that `--with` names, each as `go` or `go=1.19`; None: it names none.

    Raises:
        UsageError: there is no such tool or version, or no Debian release has all of them.
    """
    requested: dict[Tool, str] = {}
    for text in texts:
        name, equals, version = text.partition("=")
        if name not in set(Tool):
            raise UsageError(f"--with {text}: there is no tool {name!r}: use {offered_tools()}")
        tool = Tool(name)
        known = _versions_of(tool)
        if equals and version not in known:
            raise UsageError(f"--with {text}: Debian's releases have {tool.value} {_either(known)}")
        if requested.get(tool, version) != version:
            raise UsageError(f"--with {text}: gives {tool.value} twice")
        requested[tool] = version
    if not requested:
        return None
    own = SUITES.get(python)
    suites = sorted(_VERSIONS, key=lambda suite: suite != own)
    for suite in suites:
        versions = _VERSIONS[suite]
        if all(wanted in {"", versions[tool]} for tool, wanted in requested.items()):
            chosen = tuple((tool, versions[tool]) for tool in sorted(requested))
            return Toolchain(suite=suite, versions=chosen)
    together = " and ".join(f"{tool.value} {version}" for tool, version in requested.items())
    releases = "; ".join(
        f"{suite} has {', '.join(f'{tool.value} {_VERSIONS[suite][tool]}' for tool in requested)}"
        for suite in suites
    )
    raise UsageError(f"no Debian release has {together}: {releases}")


def _versions_of(tool: Tool) -> list[str]:
    found = {versions[tool] for versions in _VERSIONS.values()}
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def _either(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
