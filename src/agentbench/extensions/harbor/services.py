"""The compose files of Harbor's tasks: the settings of `main`, and the forbidden ones."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentbench.errors import ServiceError
from agentbench.sandbox.docker.compose import check_compose_file
from agentbench.sandbox.interface import Services
from agentbench.tasks.compose_file import MAIN_IMAGE, main_table
from agentbench.tasks.dataset_rows import Rejection

COMPOSE_FILE: Final = "docker-compose.yaml"
"""Harbor reads no other name."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|h)")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_CHECK_TIMES = {"interval": 30.0, "timeout": 30.0, "start_period": 0.0, "start_interval": 5.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class MainService:
    """The settings of `main` in a compose file, as far as a task's table needs them."""

    builds: bool = False
    dockerfile: Path | None = None  # None: it has no image of its own
    user: str | None = None
    workdir: str | None = None
    healthcheck: Mapping[str, object] | None = None


def main_service(folder: Path) -> MainService:
    """The settings of `main` in a folder's compose file; its default is the folder's Dockerfile.

    Raises:
        InputError: the file cannot be read.
        ValueError: a setting depends on a variable; the text says which.
    """
    usual = folder / "Dockerfile" if (folder / "Dockerfile").is_file() else None
    if not (folder / COMPOSE_FILE).is_file():
        return MainService(dockerfile=usual)
    main = main_table(folder / COMPOSE_FILE)
    build = main.get("build")
    table = build if isinstance(build, dict) else {"context": build or "."}
    own = folder / str(table.get("context", ".")) / str(table.get("dockerfile", "Dockerfile"))
    return MainService(
        builds=build is not None,
        dockerfile=usual if build is None else own,
        user=_plain(main, "user"),
        workdir=_plain(main, "working_dir"),
        healthcheck=_health_check(main.get("healthcheck")),
    )


def compose_rejections(file: Path, env: Mapping[str, str]) -> Iterator[Rejection]:
    """The settings of a compose file that would break the isolation of a task."""
    if not file.is_file():
        return
    own = {"CONTEXT_DIR": str(file.resolve().parent), "CPUS": "1", "MEMORY": "512M"}
    images = dict.fromkeys(("MAIN_IMAGE_NAME", "PREBUILT_IMAGE_NAME"), MAIN_IMAGE)
    try:
        check_compose_file(Services(file=file, env=env, variables={**own, **images}))
    except ServiceError as error:
        for line in str(error).splitlines():
            field, _, what = line.removeprefix(f"{file}: ").partition(": ")
            is_field = bool(what) and " " not in field
            yield Rejection(
                where=str(file),
                field=field if is_field else "",
                what=what if is_field else line.removeprefix(f"{file}: "),
            )


def _plain(main: Mapping[str, object], key: str) -> str | None:
    value = main.get(key)
    if value is not None and "$" in str(value):
        raise ValueError(f"services.main.{key}: {str(value)[:80]!r} depends on a variable")
    return None if value is None else str(value)


def _health_check(check: object) -> Mapping[str, object] | None:
    """A health check of Compose in our form; None if there is none."""
    test = check.get("test") if isinstance(check, dict) else None
    if not isinstance(check, dict) or not test or check.get("disable") or test == ["NONE"]:
        return None
    if isinstance(test, list):
        kind, *words = map(str, test)
        command = " ".join(words) if kind == "CMD-SHELL" else shlex.join(words)
    else:
        command = str(test)
    times = dict(_CHECK_TIMES)
    for key in times:
        if parts := _DURATION.findall(str(check.get(key))):
            times[key] = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    retries = {"retries": check["retries"]} if "retries" in check else {}
    return {"command": command, **{f"{key}_s": value for key, value in times.items()}, **retries}
