"""The final settings of a Dockerfile: its working folder, its user, and its base image."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from agentbench.sandbox.interface import ImageSettings
from agentbench.sandbox.python_stacks import BASE_IMAGES
from agentbench.tasks.users import AGENT_USER, ROOT_USER, UserName

FindImage = Callable[[str], ImageSettings | None]
"""Finds the settings of an image by its name; None: they are unknown."""

_OUR_USER = "1000:1000"  # of base images
_LINE_CONTINUATION = re.compile(r"\\[ \t]*\r?\n")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s*(FROM|WORKDIR|USER)\s+(.+?)\s*$", re.IGNORECASE)
_OPTION = re.compile(r"--\S+\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerfileEnd:
    """The settings at the end of a Dockerfile's last stage; None if its image decides."""

    image: str = ""  # that its stages start from
    workdir: PurePosixPath | None = None
    user: str | None = None

    def in_image(self, find_image: FindImage) -> "DockerfileEnd":
        """The same, with the image's settings in place of missing ones."""
        if not self.image or (self.workdir is not None and self.user is not None):
            return self
        image = find_image(self.image)
        if image is None:
            return self
        return replace(self, workdir=self.workdir or image.workdir, user=self.user or image.user)

    def user_of(self, named: str | int | None) -> UserName:
        """The user of a program: the named one, else that of the image, usually root."""
        own = self.user or ROOT_USER
        if self.image.startswith(BASE_IMAGES) and self.user in {None, "", _OUR_USER}:
            own = AGENT_USER
        name = (str(named) if named is not None else own).partition(":")[0]
        return ROOT_USER if name == "0" else name


def no_image(image: str) -> None:
    """Finds no image."""
    del image


def parse_dockerfile(text: str) -> DockerfileEnd:
    """The settings at the end of a Dockerfile.

    Raises:
        ValueError: its working folder depends on a variable; the text quotes the line.
    """
    stages: dict[str, DockerfileEnd] = {}
    found, name = DockerfileEnd(), ""
    for line in _LINE_CONTINUATION.sub(" ", _COMMENT.sub("", text)).splitlines():
        instruction = _INSTRUCTION.match(line)
        if instruction is None:
            continue
        word, value = instruction[1].upper(), instruction[2]
        if word == "FROM":
            stages[name] = found
            base, _, name = _OPTION.sub("", value).partition(" ")
            name = name.split()[-1].lower() if name else ""
            found = stages.get(base.lower()) or DockerfileEnd(image=base)
        elif word == "USER":
            found = replace(found, user=value.split()[0])
        else:
            if "$" in value:
                raise ValueError(f"{line.strip()[:80]!r} depends on a variable")
            workdir = (found.workdir or PurePosixPath("/")) / value.strip("\"'")
            found = replace(found, workdir=workdir)
    return found
