"""A task's compose file: the files that it names, and whether it gives the sandbox an image.

Docker Compose itself interprets it. It also reads the files that a compose file names, wherever
they are on this machine, so those names are checked before it runs.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import yaml

from agentbench.errors import InputError

MAIN = "main"
"""The service that is the sandbox; all others run alongside it."""

MAIN_IMAGE = "agentbench-main-image"
"""The image of `main` if the compose file gives it none; a service may name it, too."""

_KEYS = frozenset({"name", "version", "services", "networks", "volumes", "secrets", "configs"})
_Table = Mapping[str, object]


class _Loader(yaml.SafeLoader):
    """Reads plain values, and ignores Compose's own tags `!reset` and `!override`."""


def _untagged(loader: _Loader, _suffix: str, node: yaml.Node) -> object:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return node.value


_Loader.add_multi_constructor("!", _untagged)


def compose_faults(file: Path) -> tuple[str, ...]:
    """Everything that is wrong with a compose file and with the files that it extends."""
    return tuple(_faults(file, file.resolve().parent, seen=set()))


def main_has_image(file: Path) -> bool:
    """Whether the file names or builds the image of the sandbox.

    False if it cannot be read: Compose reports why.
    """
    try:
        main = _services(_read(file)).get(MAIN)
    except InputError:
        return False
    return main is not None and not {"image", "build", "extends"}.isdisjoint(main)


def service_faults(folder: Path, file: str | None, named: Iterable[str]) -> Iterator[str]:
    """Faults of names that are not services.

    Args:
        folder: The task's folder.
        file: The path of its compose file in it; None: it has none.
        named: The names.
    """
    known = frozenset[str]()
    if file is not None:
        with suppress(InputError):
            known = frozenset(_services(_read(folder / file)))
    for name in sorted({*named} - known):
        where = f"is not in {file}" if file is not None else "needs [environment] compose"
        yield f"the service {name!r} {where}"


def networked_services(file: Path) -> frozenset[str]:
    """The services that have networks of their own.

    Raises:
        InputError: the file cannot be read.
    """
    services = _services(_read(file)).items()
    return frozenset(name for name, each in services if {"networks", "network_mode"} & each.keys())


def main_table(file: Path) -> _Table:
    """The settings of the sandbox in the file.

    Raises:
        InputError: the file cannot be read.
    """
    return _services(_read(file)).get(MAIN, {})


def _read(file: Path) -> _Table:
    try:
        document: object = yaml.load(file.read_bytes(), _Loader)
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise InputError(
            f"{file}: cannot be read as YAML: {' '.join(str(error).split())}"
        ) from None
    table: _Table = document if isinstance(document, dict) else {}
    services = table.get("services")
    values = services.values() if isinstance(services, dict) else [None]
    if not all(isinstance(each, dict) for each in values):
        raise InputError(f"{file}: services: expected a table of services, each with its settings")
    return table


def _services(document: _Table) -> Mapping[str, _Table]:
    services = document["services"]
    assert isinstance(services, dict)  # `_read` checks it
    return services


def _faults(file: Path, folder: Path, seen: set[Path]) -> Iterator[str]:
    seen.add(file.resolve())
    try:
        document = _read(file)
    except InputError as error:
        yield from error.faults
        return
    for key in document:
        if key not in _KEYS and not str(key).startswith("x-"):
            yield f"{file}: {key}: is not supported; give services, networks and volumes only"
    for name, service in _services(document).items():
        # Compose reads these files wherever they are on this machine.
        named: list[tuple[str, str]] = []
        for key, subkey in (("env_file", "path"), ("label_file", "path"), ("extends", "file")):
            value = service.get(key)
            for entry in value if isinstance(value, list) else [value]:
                text = entry.get(subkey) if isinstance(entry, dict) else entry
                if text is not None and not (key == "extends" and isinstance(entry, str)):
                    named.append((key, str(text)))
        for key, path in named:
            found = (file.parent / path).resolve()
            if "$" in path or not found.is_relative_to(folder):
                yield f"{file}: services.{name}.{key}: {path} is not a path below {folder}"
            elif key == "extends" and found not in seen:
                yield from _faults(found, folder, seen)
