"""Defaults of options from agentbench.toml, or [tool.agentbench] of pyproject.toml.

Only the files of the current folder count, as the default of --runs-dir does.
"""

import os
import re
import tomllib
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentbench.core.files import describe_read_error, read_regular_file
from agentbench.errors import InputError

if TYPE_CHECKING:
    from typer._click import Parameter

_OWN_FILE = "agentbench.toml"
_PROJECT_FILE = "pyproject.toml"
_SHARED = ("jobs", "runs-dir", "sandbox")  # each for all commands that have it
# A cloned repository must not permit what only its user may permit, take keys or files of the
# machine, or run code outside a sandbox.
_REFUSED = ("agent-files", "allow-env", "allow-unsandboxed", "base-url", "registry")
_UNSAFE_VALUES = {"agent": re.compile(r"(?!predictions:).*:"), "sandbox": re.compile("process$")}


def file_defaults(
    command: str, params: "list[Parameter]", *, commands: Collection[str]
) -> dict[str, Any]:
    """The defaults of a command, by the names of its parameters.

    Args:
        command: The command.
        params: Its arguments and options.
        commands: All commands, each of which may have a table.

    Raises:
        InputError: the file cannot be read, or has an unknown key or a wrong value.
    """
    where, tables = _read_tables()
    options = {
        flag.removeprefix("--"): param
        for param in params
        if param.param_type_name == "option"
        for flag in param.opts
        if flag.startswith("--")
    }
    shared = {key: value for key, value in tables.items() if not isinstance(value, dict)}
    for key in shared.keys() - set(_SHARED):
        hint = f"only {', '.join(_SHARED)} are for all commands; others belong to [run] or another"
        raise InputError(f"{where}: {key}: {hint} command's table")
    for table in tables.keys() - shared.keys() - set(commands):
        near = get_close_matches(table, commands, n=1)
        hint = f"; did you mean [{near[0]}]?" if near else ""
        raise InputError(f"{where}: [{table}]: no command of that name{hint}")
    own = tables.get(command, {})
    found = {}
    for key, value in {**{k: v for k, v in shared.items() if k in options}, **own}.items():
        unsafe = _UNSAFE_VALUES.get(key)
        if key in _REFUSED or (unsafe is not None and unsafe.match(str(value))):
            place = f"{command}.{key}" if key in own else key
            raise InputError(f"{where}: {place}: only the command line can permit this")
        if key not in options or key in {"help", "debug"}:
            near = get_close_matches(key, options, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InputError(
                f"{where}: {command}.{key}: not an option of agentbench {command}{hint}"
            )
        found[str(options[key].name)] = _value(options[key], value, f"{where}: {command}.{key}")
    return found


def _read_tables() -> tuple[str, Mapping[str, Any]]:
    for name in (_OWN_FILE, _PROJECT_FILE):
        path = Path(name)
        if not os.path.lexists(path):
            continue
        try:
            content = tomllib.loads(read_regular_file(path).decode("utf-8-sig"))
        except (OSError, ValueError, RecursionError) as error:
            # Another tool's file is not ours to refuse.
            if name == _PROJECT_FILE:
                continue
            raise InputError(f"{path}: {describe_read_error(error)}") from None
        if name == _PROJECT_FILE:
            tools = content.get("tool", {})
            content = tools.get("agentbench", {}) if isinstance(tools, dict) else {}
            if not isinstance(content, dict):
                raise InputError(f"{path}: tool.agentbench: expected a table of options")
        if content:
            return name if name == _OWN_FILE else f"{name}: tool.agentbench", content
    return "", {}


def _value(param: "Parameter", value: object, where: str) -> object:
    """A value as the command line would have it, which is text; true and false for switches."""
    is_switch = bool(getattr(param, "is_flag", False))
    if is_switch != isinstance(value, bool):
        raise InputError(f"{where}: expected {'true or false' if is_switch else 'a value'}")
    if is_switch:
        return value
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(each, (str, int, float)) for each in values):
        raise InputError(f"{where}: expected text, a number or a list of them")
    if getattr(param, "multiple", False):
        return [str(each) for each in values]
    if isinstance(value, list):
        raise InputError(f"{where}: expected one value, found a list")
    if value == "":
        raise InputError(f"{where}: expected a value, found an empty text")
    return str(value)
