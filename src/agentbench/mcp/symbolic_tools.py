"""The symbolic tools: what each takes, what it does, and what it says when it cannot."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from threading import Event

from agentbench.distribution import install_command
from agentbench.errors import AgentbenchError
from agentbench.extras import SYMBOLIC, is_there
from agentbench.mcp.health import health
from agentbench.mcp.symbolic_answers import (
    Spent,
    branches_answer,
    check_answer,
    compare_answer,
    find_path_answer,
)
from agentbench.mcp.symbolic_arguments import (
    BranchesArguments,
    CheckArguments,
    CompareArguments,
    FindPathArguments,
    HealthArguments,
)
from agentbench.mcp.symbolic_envelopes import (
    BranchesEnvelope,
    CheckEnvelope,
    CompareEnvelope,
    Envelope,
    ErrorType,
    FindPathEnvelope,
    HealthEnvelope,
)
from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.tool_calls.arguments import Arguments
from agentbench.pytest_results.tool_calls.masking import Mask
from agentbench.symbolic.alike import Likeness, compare
from agentbench.symbolic.analysis import Aim, Found, Search, search
from agentbench.symbolic.laboratory import Laboratory


class SymbolicTool(StrEnum):
    """The tools on functions that are handed in, and on the server itself."""

    CHECK = "symbolic_check"
    FIND_PATH = "find_path_to_exception"
    COMPARE = "compare_functions"
    BRANCHES = "analyze_branches"
    HEALTH = "health_check"


SYMBOLIC_ARGUMENTS: Mapping[SymbolicTool, type[Arguments]] = {
    SymbolicTool.CHECK: CheckArguments,
    SymbolicTool.FIND_PATH: FindPathArguments,
    SymbolicTool.COMPARE: CompareArguments,
    SymbolicTool.BRANCHES: BranchesArguments,
    SymbolicTool.HEALTH: HealthArguments,
}
"""What each tool takes."""

ENVELOPES: Mapping[SymbolicTool, type[Envelope]] = {
    SymbolicTool.CHECK: CheckEnvelope,
    SymbolicTool.FIND_PATH: FindPathEnvelope,
    SymbolicTool.COMPARE: CompareEnvelope,
    SymbolicTool.BRANCHES: BranchesEnvelope,
    SymbolicTool.HEALTH: HealthEnvelope,
}
"""What each tool answers."""


def offered(*, installed: bool | None = None) -> tuple[SymbolicTool, ...]:
    """The tools that a client is told of: without the extra, only the one that names its lack."""
    if is_there(SYMBOLIC) if installed is None else installed:
        return tuple(SymbolicTool)
    return (SymbolicTool.HEALTH,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbolic:
    """What the tools work with."""

    laboratory: Laboratory
    mask: Mask
    version: str
    installed: bool

    def call(self, tool: SymbolicTool, arguments: Arguments, cancel: Event) -> JsonObject:
        """Do what a tool is for; returns the answer. It takes long, so not for an event loop.

        Raises:
            KeyboardInterrupt: it was called off; no process of it is left.
        """
        if not self.installed and tool is not SymbolicTool.HEALTH:
            command = install_command("symbolic")
            return refused(tool, ErrorType.IMPORT, f"{tool} is not installed: {command}")
        try:
            return self._called(arguments, cancel).model_dump(mode="json")
        except AgentbenchError as error:
            message = self.mask.text(f"no sandbox for the analysis: {error}")
            return refused(tool, ErrorType.RUNTIME, message)

    def _called(self, arguments: Arguments, cancel: Event) -> Envelope:
        match arguments:
            case CheckArguments():
                return self._check(arguments, cancel)
            case FindPathArguments():
                return self._find_path(arguments, cancel)
            case CompareArguments():
                return self._compare(arguments, cancel)
            case BranchesArguments():
                return self._branches(arguments, cancel)
            case HealthArguments():
                tools = offered(installed=self.installed)
                return health(self.laboratory, self.mask, tools, self.version)
            case _:
                raise TypeError(f"no tool takes {type(arguments).__name__}")

    def _check(self, arguments: CheckArguments, cancel: Event) -> CheckEnvelope:
        name, given = arguments.function_name, arguments.timeout_seconds
        asked = Search(aim=Aim.CHECK, function=name, seconds=given)
        found, spent = self._search(arguments.code, asked, cancel)
        return check_answer(name, found, spent)

    def _find_path(self, arguments: FindPathArguments, cancel: Event) -> FindPathEnvelope:
        name, kind = arguments.function_name, arguments.exception_type
        seconds = arguments.timeout_seconds
        asked = Search(aim=Aim.RAISES, function=name, seconds=seconds, exception=kind)
        found, spent = self._search(arguments.code, asked, cancel)
        return find_path_answer(name, kind, found, spent)

    def _branches(self, arguments: BranchesArguments, cancel: Event) -> BranchesEnvelope:
        name, given = arguments.function_name, arguments.timeout_seconds
        asked = Search(aim=Aim.BRANCHES, function=name, seconds=given)
        found, spent = self._search(arguments.code, asked, cancel)
        return branches_answer(name, found, spent)

    def _compare(self, arguments: CompareArguments, cancel: Event) -> CompareEnvelope:
        names, given = (arguments.function_a, arguments.function_b), arguments.timeout_seconds
        started = time.monotonic()
        likeness: Likeness = compare(self.laboratory, arguments.code, names, given, cancel)
        return compare_answer(names, likeness, self._spent(given, started))

    def _search(self, code: str, asked: Search, cancel: Event) -> tuple[Found, Spent]:
        started = time.monotonic()
        found = search(self.laboratory, code, asked, cancel)
        return found, self._spent(asked.seconds, started)

    def _spent(self, given: float, started: float) -> Spent:
        return Spent(given=given, took=time.monotonic() - started, mask=self.mask)


def refused(tool: SymbolicTool, error_type: ErrorType, message: str) -> JsonObject:
    """An error in which every field of the tool's is there, with nothing in it."""
    told = {"status": "error", "error_type": error_type, "message": message}
    made = ENVELOPES[tool].model_construct(**told)  # type: ignore[arg-type]  # names of each envelope's own fields
    return made.model_dump(mode="json", warnings=False)
