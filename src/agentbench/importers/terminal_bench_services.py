"""Converts the compose files of Terminal-Bench's tasks with several containers.

The container that Terminal-Bench names for itself, usually `client`, becomes `main`. Its own
variables are removed with their settings: names of containers and images, and folders of logs.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import yaml
from msgspec import Struct
from pydantic import JsonValue

from agentbench.tasks.compose_file import MAIN

CLIENT = "client"
_OWN_VARIABLE = re.compile(r"\$\{?T_BENCH_\w+\}?")
_CLIENT_NAME = "T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME"
_HOST_VARIABLE = re.compile(r"(?<!\$)\$(?:\{(\w+)\}|(\w+))")
_Service = dict[str, JsonValue]


class UnsupportedComposeError(ValueError):
    """A compose file requires something that a sandbox cannot have; the text says what."""


class ConvertedServices(Struct, frozen=True, kw_only=True):
    """A compose file whose sandbox is `main`, and its settings for the task's table."""

    text: str
    dockerfile: str | None  # None: the sandbox has an image by name
    user: str | None
    workdir: str | None


def convert_services(document: object) -> ConvertedServices:
    """The compose file of a task with several containers, or with settings of its own.

    Raises:
        UnsupportedComposeError: none is the client, or a value would be taken from the host.
    """
    services = document.get("services") if isinstance(document, dict) else None
    if not isinstance(services, dict) or not all(isinstance(x, dict) for x in services.values()):
        raise UnsupportedComposeError("services: expected a table of services")
    assert isinstance(document, dict)
    client = _client(services)
    converted = {_renamed(name, client): _service(each, client) for name, each in services.items()}
    main = converted[MAIN]
    main["networks"] = _with_alias(main.get("networks"), client)
    text = yaml.safe_dump({**document, "services": converted}, sort_keys=False)
    for name in _host_variables(text):
        raise UnsupportedComposeError(f"services: the variable {name} would be taken from the host")
    user, workdir = main.get("user"), main.get("working_dir")
    return ConvertedServices(
        text=text,
        dockerfile=_dockerfile(main),
        user=None if user is None else str(user),
        workdir=None if workdir is None else str(workdir),
    )


def _client(services: Mapping[str, _Service]) -> str:
    named = [name for name, each in services.items() if _CLIENT_NAME in str(each)]
    found = [*named, *(name for name in (CLIENT, MAIN) if name in services), *services]
    if not named and len(services) > 1 and {CLIENT, MAIN}.isdisjoint(services):
        names = ", ".join(sorted(services))
        raise UnsupportedComposeError(
            f"services: none of {names} is the client; name it `{CLIENT}`, or give it the "
            f"container_name ${{{_CLIENT_NAME}}}"
        )
    return found[0]


def _renamed(name: str, client: str) -> str:
    return MAIN if name == client else name


def _service(service: _Service, client: str) -> _Service:
    """A service without Terminal-Bench's own variables, and with the new name of the client."""
    kept: _Service = {}
    for key, value in service.items():
        if key == "container_name" or (isinstance(value, str) and _OWN_VARIABLE.search(value)):
            continue
        if isinstance(value, list):
            value = [each for each in value if not _OWN_VARIABLE.search(str(each))]
        elif isinstance(value, dict):
            value = {k: v for k, v in value.items() if not _OWN_VARIABLE.search(str(v))}
        if key in {"depends_on", "links"}:
            value = _of_main(value, client)
        kept[key] = value
    return kept


def _of_main(names: JsonValue, client: str) -> JsonValue:
    if isinstance(names, dict):
        return {_renamed(name, client): how for name, how in names.items()}
    return [_renamed(str(each), client) for each in names] if isinstance(names, list) else names


def _with_alias(networks: JsonValue, client: str) -> dict[str, JsonValue]:
    """The networks of the client, where other services find it by its own name."""
    names: Mapping[str, JsonValue] = {"default": None}
    if isinstance(networks, dict):
        names = networks
    elif isinstance(networks, list):
        names = dict.fromkeys(map(str, networks))
    found: dict[str, JsonValue] = {}
    for name, options in names.items():
        own = options if isinstance(options, dict) else {}
        aliases = own.get("aliases")
        found[name] = {**own, "aliases": [client, *(aliases if isinstance(aliases, list) else ())]}
    return found


def _dockerfile(main: _Service) -> str | None:
    build = main.get("build")
    if build is None:
        return None
    table = build if isinstance(build, dict) else {"context": build}
    context = PurePosixPath(str(table.get("context", ".")))
    return str(context / str(table.get("dockerfile", "Dockerfile")))


def _host_variables(text: str) -> Iterator[str]:
    """The variables without a default and without a value in any file of the task."""
    for found in _HOST_VARIABLE.finditer(text):
        yield found[1] or found[2]
