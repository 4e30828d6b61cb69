"""The tables that extensions add rows to.

An extension is a folder of `agentbench/extensions` whose module `plugin` has `OFFERS`. Nothing
outside imports one, so that any of the folders can be deleted: the owner of a table asks here.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from agentbench.errors import UsageError

_FOLDER = Path(__file__).parents[1] / "extensions"


class Slot(StrEnum):
    """The tables, each with what its rows load."""

    AGENT = "agent"  # a function that makes an agent
    AGENT_COMMAND = "agent command"  # a function for typer: `agentbench agents NAME`
    AUDIT = "audit"  # `audit.audit.RunComparison`
    BEHAVIOUR = "behaviour"  # functions of runs: the story of an attempt, tags, tables
    CHANGE_COMPARISON = "change comparison"  # makes an `audit.audit.ChangeFindings` for a task
    COMMAND = "command"  # a function, or a group of functions, for typer
    EXECUTOR = "executor"  # `runs.executors.Cluster`
    MCP_TOOLS = "MCP tools"  # `mcp.server.MakeToolSet`
    NAME = "name"  # a value in the package `agentbench`
    REPORT_FOLDER = "report folder"  # `cli.report.WriteFolder`
    REPORT_FORMAT = "report format"  # `cli.report.WriteReport`
    REPORT_WITH_BEHAVIOUR = "report with behaviour"  # the same, for `--behaviour`
    STORED_LIBRARIES = "stored libraries"  # a function of the cache's folder that gives folders
    TASK_COMMAND = "task command"  # a function for typer: `agentbench tasks NAME`
    TASK_EXPORT = "task export"  # the same: `agentbench tasks export NAME`
    TASK_IMPORT = "task import"  # the same: `agentbench tasks import NAME`
    TASK_SETS = "task sets"  # `cli.tasks.sets.TaskSets`
    TASK_SCORE = "task score"  # a module with `measure_valid_tasks` and the like, for `validate`
    WORDS = "words"  # what words of reports mean, for `explain`


class Offer(NamedTuple):
    """A row of a table."""

    about: str  # a line for people
    load: Callable[[], Any]
    """Imports what is offered. A `plugin` itself imports nothing slow: each start reads it."""


@cache
def offers(slot: Slot) -> Mapping[str, Offer]:
    """The rows that extensions add to a table, by their names."""
    found: dict[str, Offer] = {}
    for plugin in sorted(_FOLDER.glob("*/plugin.py")):
        rows = import_module(f"agentbench.extensions.{plugin.parent.name}.plugin").OFFERS
        found |= rows.get(slot, {})
    return found


def load_offer(slot: Slot, name: str, what: str) -> Any:  # noqa: ANN401 - `Slot` says what it is
    """Import a row of a table.

    Args:
        slot: The table.
        name: The row.
        what: What needs it, as the message names it.

    Raises:
        UsageError: no extension offers it.
    """
    if name not in offers(slot):
        raise UsageError(f"{what}: expected an extension that offers {name!r}, found none")
    return offers(slot)[name].load()
