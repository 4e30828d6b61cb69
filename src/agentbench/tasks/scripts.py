"""Scripts of a task: a verifier instead of pytest, a solution instead of a patch."""

import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Annotated, Final

from pydantic import AfterValidator, Field, model_validator

from agentbench.core.files import FileContent
from agentbench.core.network import Network
from agentbench.core.schema import Schema
from agentbench.errors import InputError
from agentbench.tasks.problem import Seconds

VERIFIER_FOLDER: Final = "tests"
"""The folder of the verifier's files in a task; the sandbox of the verifier has them at /tests."""

SOLUTION_FOLDER: Final = "solution"
"""The files of the reference solution, in the task's folder."""

SOLUTION_MOUNT: Final = PurePosixPath("/solution")
"""The path of these files in the oracle's sandbox; no other sandbox has them."""


_SERVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
ImageName = Annotated[str, Field(min_length=1, pattern=r"^[A-Za-z0-9][\w./:@-]*$")]


def check_inside(path: str) -> str:
    """A path below the task's folder.

    Raises:
        ValueError: it is not a valid path; says why.
    """
    if not path:
        raise ValueError("is not a path")
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts:
        raise ValueError("leaves the task's folder; give a path below it, without '..'")
    if path.startswith("-") or CONTROL.search(path):
        raise ValueError("is not a plain path: it starts with '-' or contains a control character")
    return path


def check_argument(text: str) -> str:
    """A text that a command line can hold.

    Raises:
        ValueError: it contains a NUL character.
    """
    if "\0" in text:
        raise ValueError("contains a NUL character, which no command line can hold")
    return text


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError("is not a name of an environment variable")
    return name


def _check_taken(path: str) -> str:
    """A path below the workspace, or an absolute one outside of it, also of a service."""
    service = service_path(path)
    if service is None and not path.startswith("/"):
        return check_inside(path)
    place = service[1] if service is not None else PurePosixPath(path)
    if ".." in place.parts or place == PurePosixPath("/"):
        raise ValueError("is not a path of files; give one without '..'")
    return check_argument(path)


def service_path(path: str) -> tuple[str, PurePosixPath] | None:
    """The service and the path in it of `service:/path`; None: the path is of the sandbox."""
    service, colon, place = path.partition(":")
    is_service = bool(colon) and place.startswith("/") and bool(_SERVICE.fullmatch(service))
    return (service, PurePosixPath(place)) if is_service else None


InsidePath = Annotated[str, AfterValidator(check_inside)]
TakenPath = Annotated[str, AfterValidator(_check_taken)]
Argument = Annotated[str, AfterValidator(check_argument)]
VariableName = Annotated[str, AfterValidator(_variable)]
Variables = dict[VariableName, Argument]
HostVariables = dict[VariableName, VariableName]
"""Names of variables of the host, by those of the sandbox; a run must allow them."""
SandboxUser = Annotated[str, Field(pattern=r"^(?:[a-z_][a-z0-9_.-]{0,31}|[0-9]{1,9})$")]
"""`agent`, `root`, or a user of the image by name or number."""
ShellLine = Annotated[str, Field(min_length=1), AfterValidator(check_argument)]


class HealthCheck(Schema):
    """`[environment.healthcheck]`: a command that succeeds once the agent may begin."""

    command: ShellLine
    interval_s: Seconds = 5.0
    timeout_s: Seconds = 30.0
    start_period_s: Annotated[float, Field(strict=True, ge=0, le=24 * 3600)] = 0.0
    """The time after the start in which failures do not count."""
    start_interval_s: Seconds = 5.0
    retries: Annotated[int, Field(strict=True, ge=1, le=1000)] = 3
    """The consecutive failures after which the environment counts as broken."""


class CollectCommand(Schema):
    """`[[verifier.collect]]`: a command after the agent in its sandbox or a service; may fail."""

    command: ShellLine
    timeout_s: Seconds = 60.0
    user: SandboxUser | None = None  # None: that of [environment], or of the service
    service: Annotated[str, Field(pattern=_SERVICE.pattern)] | None = None  # None: the sandbox


class VerifierEnvironment(StrEnum):
    """The container in which a task's script judges."""

    FRESH = "fresh"  # from the state before the agent, with the agent's files
    SHARED = "shared"  # the agent's own, with everything that it changed and started


class Verifier(Schema):
    """`[verifier]`: a script that judges instead of pytest, and the threshold of its reward."""

    command: ShellLine = "/tests/test.sh"
    timeout_s: Seconds = 600.0
    threshold: Annotated[float, Field(strict=True, allow_inf_nan=False)] = 0.0
    env: Variables = Field(default_factory=dict)
    env_from_host: HostVariables = Field(default_factory=dict)
    network: Network = False
    image: ImageName | None = None
    dockerfile: InsidePath | None = None
    compose: InsidePath | None = None
    """The compose file of a verifier with its own image; it may also give the image."""
    workdir: Annotated[str, Field(pattern=r"^/[^\x00]*$")] | None = None
    """The folder in which the command runs; None: the workspace."""
    cpus: Annotated[float, Field(gt=0, le=256, allow_inf_nan=False)] | None = None
    memory_mib: Annotated[int, Field(ge=64, le=2**24)] | None = None  # None: those of [environment]
    takes: tuple[TakenPath, ...] | None = None
    leaves: dict[TakenPath, tuple[Argument, ...]] = Field(default_factory=dict)
    """Patterns of excluded files, for each of the paths that it takes."""
    user: SandboxUser | None = None  # None: that of [environment]
    environment: VerifierEnvironment = VerifierEnvironment.FRESH
    collect: tuple[CollectCommand, ...] = ()

    @property
    def is_shared(self) -> bool:
        """Whether it judges in the agent's own container."""
        return self.environment is VerifierEnvironment.SHARED

    def is_taken(self, path: PurePosixPath) -> bool:
        """Whether it takes a file: relative to the workspace, or with an absolute path."""
        if self.takes is None:
            return not path.is_absolute()
        return any(
            path.is_relative_to(each)
            and not _is_excluded(path.relative_to(each), self.leaves.get(each, ()))
            for each in self.takes
        )

    @property
    def has_image(self) -> bool:
        """Whether it has its own image, and so none of the services of [environment]."""
        return (self.image, self.dockerfile, self.compose) != (None, None, None)

    @property
    def services(self) -> frozenset[str]:
        """The services of [environment] that it names."""
        taken = (service_path(path) for path in self.takes or ())
        hooks = {hook.service for hook in self.collect if hook.service is not None}
        return frozenset({*hooks, *(each[0] for each in taken if each is not None)})

    @model_validator(mode="after")
    def _one_image(self) -> "Verifier":
        if self.image is not None and self.dockerfile is not None:
            raise ValueError("takes `image` or `dockerfile`, not both")
        others = {"image", "dockerfile", "compose", "takes", "cpus", "memory_mib"}
        others &= self.model_fields_set
        if self.is_shared and others:
            raise ValueError(f'takes no `{sorted(others)[0]}` with `environment = "shared"`')
        unknown = sorted(self.leaves.keys() - set(self.takes or ()))
        if unknown:
            raise ValueError(
                f"takes in `leaves` only paths of `takes`; {unknown[0]!r} is not one of them"
            )
        return self


def _is_excluded(path: PurePosixPath, patterns: Iterable[str]) -> bool:
    """Whether a pattern matches a file or a folder above it, as tar's `--exclude` does."""
    ends = range(1, len(path.parts) + 1)
    names = ["/".join(path.parts[start:end]) for end in ends for start in range(end)]
    return any(fnmatchcase(name, pattern.strip("/")) for pattern in patterns for name in names)


class SolutionScript(Schema):
    """`[solution]`: a script that solves the task, instead of solution.patch."""

    command: ShellLine = "/solution/solve.sh"
    env: Variables = Field(default_factory=dict)
    env_from_host: HostVariables = Field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedSolution:
    """A command, its variables, and the folder of its files."""

    command: str
    env: Mapping[str, str]
    folder: Path
    step_folders: Mapping[str, Path] = field(default_factory=dict)  # of steps with their own
    mount_point: PurePosixPath = SOLUTION_MOUNT


def script_files(folder: Path) -> Mapping[PurePosixPath, FileContent]:
    """All files in a folder. Shell scripts are executable, and links are followed.

    Raises:
        InputError: a file cannot be read.
    """
    files = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        try:
            content, mode = path.read_bytes(), path.stat().st_mode
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        executable = path.suffix == ".sh" or bool(mode & stat.S_IXUSR)
        name = PurePosixPath(path.relative_to(folder).as_posix())
        files[name] = FileContent(content=content, executable=executable)
    return files
