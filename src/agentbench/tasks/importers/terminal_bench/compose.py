"""A `docker-compose.yaml` that starts one container, as what an image and its variables are."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_OURS = re.compile(r"\$\{?T_BENCH_\w+\}?")
# What Terminal-Bench's own template has, and what changes nothing of a container that sleeps.
_HARMLESS = frozenset({"container_name", "command", "tty", "stdin_open", "init", "platform"})
_READ = frozenset({"build", "image", "environment", "volumes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """What a compose file says of its one container."""

    dockerfile: str | None = "Dockerfile"
    image: str | None = None
    env: dict[str, str] = field(default_factory=dict)


class SeveralError(ValueError):
    """It asks for more than one plain container; the text says for what."""


def container_of(document: object) -> Container:
    """The one container of a compose file.

    Raises:
        SeveralError: it is none that a sandbox can stand for.
    """
    services = document.get("services") if isinstance(document, dict) else None
    if not isinstance(services, dict) or not services:
        raise SeveralError("services: names no container")
    if len(services) > 1:
        names = ", ".join(sorted(map(str, services)))
        raise SeveralError(f"services: starts {len(services)} ({names}); a sandbox is one")
    ((name, service),) = services.items()
    if not isinstance(service, dict):
        raise SeveralError(f"services.{name}: is no table")
    where = f"services.{name}"
    for key in service.keys() - _HARMLESS - _READ:
        raise SeveralError(f"{where}.{key}: asks for what a sandbox does not give")
    for volume in service.get("volumes") or ():
        if not _OURS.search(str(volume)):
            raise SeveralError(f"{where}.volumes: mounts {str(volume)[:80]!r}, which is not there")
    return _container(service, where)


def _container(service: dict[object, object], where: str) -> Container:
    env = dict(_variables(service.get("environment"), where))
    build, image = service.get("build"), service.get("image")
    if build is None:
        if not isinstance(image, str) or "$" in image:
            raise SeveralError(f"{where}: has neither a build nor the name of an image")
        return Container(dockerfile=None, image=image, env=env)
    if isinstance(build, str):
        build = {"context": build}
    if not isinstance(build, dict) or build.keys() - {"context", "dockerfile"}:
        raise SeveralError(f"{where}.build: has more than a context and a dockerfile")
    if str(build.get("context", ".")).rstrip("/") not in {".", ""}:
        raise SeveralError(f"{where}.build.context: is not the task's own folder")
    return Container(dockerfile=str(build.get("dockerfile", "Dockerfile")), env=env)


def _variables(given: object, where: str) -> Iterator[tuple[str, str]]:
    pairs = given.items() if isinstance(given, dict) else _split(given or ())
    for key, value in pairs:
        text = "" if value is None else str(value)
        if _OURS.search(text):
            continue  # Terminal-Bench's own, among them TEST_DIR
        if "$" in text:
            raise SeveralError(f"{where}.environment.{key}: would be taken from the host")
        yield str(key), text


def _split(given: object) -> Iterator[tuple[str, str]]:
    for each in given if isinstance(given, (list, tuple)) else ():
        key, _, value = str(each).partition("=")
        yield key, value
