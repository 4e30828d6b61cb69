"""Groups of options that several commands share: declared once, received as one value."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Any, get_type_hints

from agentbench.cli import options


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationOptions:
    """The options of commands that validate the tasks they write."""

    repeat: options.Repeat = 2
    jobs: options.Jobs = "auto"
    sandbox: options.Sandbox = options.SandboxName.AUTO
    runs_dir: options.RunsDir = Path("runs")
    as_json: options.Json = False
    quiet: options.Quiet = False
    verbose: options.Verbose = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryValidationOptions(ValidationOptions):
    """The same for tasks from a repository's history, whose tests are flaky more often."""

    repeat: options.Repeat = 3


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of each group among its parameters.

    Typer makes options of a function's parameters. The function that this returns has the group's
    fields as parameters in place of the group.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if isinstance(hint, type)}
    groups = {name: hint for name, hint in groups.items() if is_dataclass(hint)}

    @wraps(command)
    def expanded(**values: Any) -> None:  # noqa: ANN401 - what typer has parsed
        """The command with the options of its groups."""
        for name, group in groups.items():
            values[name] = group(**{each.name: values.pop(each.name) for each in fields(group)})
        command(**values)

    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += inspect.signature(groups[name]).parameters.values()
        else:
            parameters.append(parameter)
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [parameter.replace(kind=keyword) for parameter in parameters]
    del expanded.__wrapped__  # its signature is the command's
    vars(expanded)["__signature__"] = inspect.Signature(parameters)
    expanded.__annotations__ = {each.name: each.annotation for each in parameters}
    return expanded
