"""Terminal-Bench's `task.yaml`, and a `docker-compose.yaml` with one container.

The facts are from the models of the `terminal-bench` package (PyPI, 0.2.18).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated

import yaml
from pydantic import ConfigDict, Field, ValidationError

from agentbench.core.schema import Schema
from agentbench.importers.task_folders import validation_rejections
from agentbench.tasks.dataset_rows import Rejection

_MAX_SECONDS = 7 * 24 * 3600
Seconds = Annotated[float, Field(gt=0, le=_MAX_SECONDS, allow_inf_nan=False)]


class TerminalBenchTaskFile(Schema):
    """The whole file; keys that do not affect a run are collected separately."""

    model_config = ConfigDict(extra="allow")

    instruction: Annotated[str, Field(min_length=1)]
    difficulty: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    parser_name: str = "pytest"
    max_agent_timeout_sec: Seconds = 360.0
    max_test_timeout_sec: Seconds = 60.0
    run_tests_in_same_shell: bool = False


class SolutionStep(Schema):
    """One line of keystrokes of a solution.yaml."""

    command: str
    min_timeout_sec: float = 0.0
    max_timeout_sec: float = 180.0
    block: bool = False
    append_enter: bool = True


def parse_yaml(text: str, where: str) -> object | Rejection:
    """The plain values in a YAML file; tags create no other objects."""
    try:
        found: object = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Rejection(where=where, what=f"not valid YAML: {' '.join(str(error).split())[:200]}")
    return found


def parse_terminal_bench_task_file(
    text: str, *, where: str
) -> TerminalBenchTaskFile | list[Rejection]:
    """Parse the text of a task.yaml; if it is invalid, all its faults."""
    found = parse_yaml(text, where)
    if isinstance(found, Rejection):
        return [found]
    if not isinstance(found, dict):
        return [Rejection(where=where, what="expected keys and values, found something else")]
    try:
        return TerminalBenchTaskFile.model_validate(found)
    except ValidationError as error:
        return validation_rejections(error, TerminalBenchTaskFile, where=where)


_OWN_VARIABLE = re.compile(r"\$\{?T_BENCH_\w+\}?")
# Keys of Terminal-Bench's template, and keys without effect on a sleeping container.
_HARMLESS = frozenset({"container_name", "command", "tty", "stdin_open", "init", "platform"})
_KNOWN_KEYS = frozenset({"build", "image", "environment", "volumes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeService:
    """The container in a compose file."""

    dockerfile: str | None = "Dockerfile"
    image: str | None = None
    env: dict[str, str] = field(default_factory=dict)


class UnsupportedComposeError(ValueError):
    """A compose file needs more than one plain container; the text says what."""


def single_service(document: object) -> ComposeService:
    """The only container of a compose file.

    Raises:
        UnsupportedComposeError: a sandbox cannot replace it.
    """
    services = document.get("services") if isinstance(document, dict) else None
    if not isinstance(services, dict) or not services:
        raise UnsupportedComposeError("services: names no container")
    if len(services) > 1:
        names = ", ".join(sorted(map(str, services)))
        raise UnsupportedComposeError(
            f"services: starts {len(services)} ({names}); a sandbox is one"
        )
    ((name, service),) = services.items()
    if not isinstance(service, dict):
        raise UnsupportedComposeError(f"services.{name}: is not a table")
    where = f"services.{name}"
    for key in service.keys() - _HARMLESS - _KNOWN_KEYS:
        raise UnsupportedComposeError(f"{where}.{key}: asks for what a sandbox does not give")
    for volume in service.get("volumes") or ():
        if not _OWN_VARIABLE.search(str(volume)):
            raise UnsupportedComposeError(
                f"{where}.volumes: mounts {str(volume)[:80]!r}, which is not there"
            )
    return _parse_service(service, where)


def _parse_service(service: dict[object, object], where: str) -> ComposeService:
    env = dict(_variables(service.get("environment"), where))
    build, image = service.get("build"), service.get("image")
    if build is None:
        if not isinstance(image, str) or "$" in image:
            raise UnsupportedComposeError(f"{where}: has neither a build nor the name of an image")
        return ComposeService(dockerfile=None, image=image, env=env)
    if isinstance(build, str):
        build = {"context": build}
    if not isinstance(build, dict) or build.keys() - {"context", "dockerfile"}:
        raise UnsupportedComposeError(f"{where}.build: has more than a context and a dockerfile")
    if str(build.get("context", ".")).rstrip("/") not in {".", ""}:
        raise UnsupportedComposeError(f"{where}.build.context: is not the task's own folder")
    return ComposeService(dockerfile=str(build.get("dockerfile", "Dockerfile")), env=env)


def _variables(given: object, where: str) -> Iterator[tuple[str, str]]:
    pairs = given.items() if isinstance(given, dict) else _split_variables(given or ())
    for key, value in pairs:
        text = "" if value is None else str(value)
        if _OWN_VARIABLE.search(text):
            continue  # Terminal-Bench's own variables, such as TEST_DIR
        if "$" in text:
            raise UnsupportedComposeError(
                f"{where}.environment.{key}: would be taken from the host"
            )
        yield str(key), text


def _split_variables(given: object) -> Iterator[tuple[str, str]]:
    for each in given if isinstance(given, (list, tuple)) else ():
        key, _, value = str(each).partition("=")
        yield key, value
