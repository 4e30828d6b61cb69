"""The symbolic tools: what each takes and does, and the health of the server."""

import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from threading import Event

from agentbench.core.extras import SYMBOLIC, install_command, is_installed
from agentbench.core.schema import JsonObject
from agentbench.errors import AgentbenchError, SandboxError, UnavailableError
from agentbench.mcp import symbolic_answers
from agentbench.mcp.symbolic_schemas import (
    BranchesAnswer,
    BranchesArguments,
    CheckAnswer,
    CheckArguments,
    CompareAnswer,
    CompareArguments,
    FindPathAnswer,
    FindPathArguments,
    HealthAnswer,
    HealthArguments,
    SymbolicAnswer,
    SymbolicErrorType,
)
from agentbench.pytest_results.tool_calls.arguments import ToolArguments
from agentbench.pytest_results.tool_calls.path_masking import PathMask
from agentbench.symbolic.analysis import (
    AnalysisAim,
    AnalysisRequest,
    AnalysisResult,
    FunctionComparison,
    analyse,
    compare_functions,
)
from agentbench.symbolic.sandbox import AnalysisSandboxes

_DISTRIBUTIONS = ("crosshair-tool", "hypothesis", "z3-solver")


def check_health(
    laboratory: AnalysisSandboxes, mask: PathMask, tools: tuple[str, ...], own_version: str
) -> HealthAnswer:
    """Look at all that the tools need."""
    versions = {name: _version(name) for name in _DISTRIBUTIONS}
    missing = [name for name, found in versions.items() if found is None]
    sandbox, refusal = _sandbox(laboratory)
    if refusal:
        missing.append(f"a sandbox ({mask.text(refusal)})")
    return HealthAnswer(
        message=_message(missing),
        version=own_version,
        python_version=platform.python_version(),
        crosshair_version=versions["crosshair-tool"],
        hypothesis_version=versions["hypothesis"],
        z3_version=versions["z3-solver"],
        sandbox=sandbox,
        missing=tuple(missing),
        tools=tools,
    )


def _message(missing: list[str]) -> str:
    if not missing:
        return "nothing is missing"
    remedy = "" if is_installed(SYMBOLIC) else f"; {install_command('symbolic')}"
    return f"missing: {', '.join(missing)}{remedy}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _sandbox(laboratory: AnalysisSandboxes) -> tuple[str | None, str]:
    try:
        return laboratory.provider().name, ""
    except (UnavailableError, SandboxError) as fault:
        return None, str(fault).partition("\n")[0]


class SymbolicTool(StrEnum):
    """The tools for submitted functions, and for the server itself."""

    CHECK = "symbolic_check"
    FIND_PATH = "find_path_to_exception"
    COMPARE = "compare_functions"
    BRANCHES = "analyze_branches"
    HEALTH = "health_check"


SYMBOLIC_ARGUMENTS: Mapping[SymbolicTool, type[ToolArguments]] = {
    SymbolicTool.CHECK: CheckArguments,
    SymbolicTool.FIND_PATH: FindPathArguments,
    SymbolicTool.COMPARE: CompareArguments,
    SymbolicTool.BRANCHES: BranchesArguments,
    SymbolicTool.HEALTH: HealthArguments,
}
"""The arguments of each tool."""

ENVELOPES: Mapping[SymbolicTool, type[SymbolicAnswer]] = {
    SymbolicTool.CHECK: CheckAnswer,
    SymbolicTool.FIND_PATH: FindPathAnswer,
    SymbolicTool.COMPARE: CompareAnswer,
    SymbolicTool.BRANCHES: BranchesAnswer,
    SymbolicTool.HEALTH: HealthAnswer,
}
"""The answer of each tool."""


def offered_tools(*, installed: bool | None = None) -> tuple[SymbolicTool, ...]:
    """The tools that are listed; without the extra, only the health check, which names it."""
    if is_installed(SYMBOLIC) if installed is None else installed:
        return tuple(SymbolicTool)
    return (SymbolicTool.HEALTH,)


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolicTools:
    """The symbolic tools, with their sandboxes."""

    laboratory: AnalysisSandboxes
    mask: PathMask
    version: str
    installed: bool

    def call(self, tool: SymbolicTool, arguments: ToolArguments, cancel: Event) -> JsonObject:
        """Run a tool and return its answer. It takes long, so it must not block an event loop.

        Raises:
            RunCancelled: it was cancelled; all its processes have ended.
        """
        if not self.installed and tool is not SymbolicTool.HEALTH:
            command = install_command("symbolic")
            return error_answer(
                tool, SymbolicErrorType.IMPORT, f"{tool} is not installed: {command}"
            )
        try:
            return self._called(arguments, cancel).model_dump(mode="json")
        except AgentbenchError as error:
            message = self.mask.text(f"no sandbox for the analysis: {error}")
            return error_answer(tool, SymbolicErrorType.RUNTIME, message)

    def _called(self, arguments: ToolArguments, cancel: Event) -> SymbolicAnswer:
        match arguments:
            case CheckArguments():
                name, given = arguments.function_name, arguments.timeout_seconds
                request = AnalysisRequest(aim=AnalysisAim.CHECK, function=name, seconds=given)
                found, spent = self._search(arguments.code, request, cancel)
                return symbolic_answers.check_answer(name, found, spent)
            case FindPathArguments():
                return self._find_path(arguments, cancel)
            case CompareArguments():
                return self._compare(arguments, cancel)
            case BranchesArguments():
                return self._branches(arguments, cancel)
            case HealthArguments():
                tools = offered_tools(installed=self.installed)
                return check_health(self.laboratory, self.mask, tools, self.version)
            case _:
                raise TypeError(f"no tool takes {type(arguments).__name__}")

    def _find_path(self, arguments: FindPathArguments, cancel: Event) -> FindPathAnswer:
        name, kind = arguments.function_name, arguments.exception_type
        seconds = arguments.timeout_seconds
        request = AnalysisRequest(
            aim=AnalysisAim.RAISES, function=name, seconds=seconds, exception=kind
        )
        found, spent = self._search(arguments.code, request, cancel)
        return symbolic_answers.find_path_answer(name, kind, found, spent)

    def _branches(self, arguments: BranchesArguments, cancel: Event) -> BranchesAnswer:
        name, given = arguments.function_name, arguments.timeout_seconds
        request = AnalysisRequest(aim=AnalysisAim.BRANCHES, function=name, seconds=given)
        found, spent = self._search(arguments.code, request, cancel)
        return symbolic_answers.branches_answer(name, found, spent)

    def _compare(self, arguments: CompareArguments, cancel: Event) -> CompareAnswer:
        names, given = (arguments.function_a, arguments.function_b), arguments.timeout_seconds
        started = time.monotonic()
        likeness: FunctionComparison = compare_functions(
            self.laboratory, arguments.code, names, given, cancel
        )
        return symbolic_answers.compare_answer(names, likeness, self._spent(given, started))

    def _search(
        self, code: str, asked: AnalysisRequest, cancel: Event
    ) -> tuple[AnalysisResult, symbolic_answers.CallTime]:
        started = time.monotonic()
        found = analyse(self.laboratory, code, asked, cancel)
        return found, self._spent(asked.seconds, started)

    def _spent(self, given: float, started: float) -> symbolic_answers.CallTime:
        return symbolic_answers.CallTime(
            given=given, took=time.monotonic() - started, mask=self.mask
        )


def error_answer(tool: SymbolicTool, error_type: SymbolicErrorType, message: str) -> JsonObject:
    """An error answer that has every field of the tool's answer, empty."""
    told = {"status": "error", "error_type": error_type, "message": message}
    made = ENVELOPES[tool].model_construct(**told)  # type: ignore[arg-type]  # names of each envelope's own fields
    return made.model_dump(mode="json", warnings=False)
