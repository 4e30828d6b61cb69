"""The symbolic tools: a table of their arguments, work and answers."""

import platform
import re
import time
from abc import abstractmethod
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from threading import Event
from typing import Annotated

from pydantic import AfterValidator, Field

from agentbench.core.extras import SYMBOLIC, install_command, is_installed
from agentbench.core.schema import JsonObject
from agentbench.errors import AgentbenchError, SandboxError, UnavailableError
from agentbench.extensions.symbolic import analysis, symbolic_answers
from agentbench.extensions.symbolic.analysis import SymbolicErrorType
from agentbench.extensions.symbolic.sandbox import AnalysisSandboxes
from agentbench.test_tools.arguments import NamedTool, ToolArguments
from agentbench.test_tools.envelope import PathMask

_DISTRIBUTIONS = ("crosshair-tool", "hypothesis", "z3-solver")
MAX_CODE_BYTES = 1_000_000  # bytes of code that are read
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
Timeout = Annotated[
    float,
    Field(
        default=30.0,
        ge=0.5,
        le=600,
        allow_inf_nan=False,
        description="Seconds the search may take.",
        examples=[30],
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolicTools:
    """The symbolic tools, with their sandboxes."""

    sandboxes: AnalysisSandboxes
    mask: PathMask
    version: str
    installed: bool

    def call(
        self, tool: "SymbolicTool", tool_arguments: "SymbolicArguments", cancel: Event
    ) -> JsonObject:
        """Run a tool and return its answer. It takes long, so it must not block an event loop.

        Raises:
            RunCancelled: it was cancelled; all its processes have ended.
        """
        if not self.installed and tool is not SymbolicTool.HEALTH:
            message = f"{tool} is not installed: {install_command('symbolic')}"
            return error_answer(tool, SymbolicErrorType.IMPORT, message)
        try:
            return tool_arguments.run(self, cancel).model_dump(mode="json")
        except AgentbenchError as error:
            message = self.mask.text(f"no sandbox for the analysis: {error}")
            return error_answer(tool, SymbolicErrorType.RUNTIME, message)

    def search(
        self,
        tool_arguments: "FunctionArguments | FindPathArguments",
        aim: analysis.AnalysisAim,
        cancel: Event,
        exception: str | None = None,
    ) -> tuple[analysis.AnalysisResult, symbolic_answers.CallTime]:
        """Search the paths of a function; also returns the time that it took."""
        name, seconds, started = (
            tool_arguments.function_name,
            tool_arguments.timeout_seconds,
            time.monotonic(),
        )
        request = analysis.AnalysisRequest(
            aim=aim, function=name, seconds=seconds, exception=exception
        )
        with self.sandboxes.opened(tool_arguments.code, cancel=cancel) as sandbox:
            found = analysis.analyse(sandbox, request)
        return found, self.time_since(started, seconds)

    def time_since(self, started: float, timeout_seconds: float) -> symbolic_answers.CallTime:
        took = time.monotonic() - started
        return symbolic_answers.CallTime(timeout_seconds=timeout_seconds, took=took, mask=self.mask)


def _check_code(code: str) -> str:
    try:
        size = len(code.encode())
    except UnicodeEncodeError:
        raise ValueError("contains half of a surrogate pair, which a file cannot hold") from None
    if size > MAX_CODE_BYTES:
        raise ValueError(f"is {size} bytes long; the limit is {MAX_CODE_BYTES}")
    return code


def _check_name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ValueError("is not a Python name, such as parse or Parser.parse")
    return name


Code = Annotated[
    str,
    AfterValidator(_check_code),
    Field(
        description="A whole module's text; it is run in a sandbox without a network.",
        examples=["def f(x: int) -> int:\n    return 10 // (x - 77)\n"],
    ),
]
DottedName = Annotated[str, Field(max_length=200), AfterValidator(_check_name)]
FunctionName = Annotated[
    DottedName, Field(description="A function of the code, or Class.method.", examples=["f"])
]


class SymbolicArguments(ToolArguments):
    """The arguments of a symbolic tool, and its work."""

    @abstractmethod
    def run(self, tools: SymbolicTools, cancel: Event) -> symbolic_answers.SymbolicAnswer:
        """Answer the call.

        Raises:
            AgentbenchError: there is no sandbox for it.
        """


class FunctionArguments(SymbolicArguments):
    """The arguments of tools that search a function."""

    code: Code
    function_name: FunctionName
    timeout_seconds: Timeout


class CheckArguments(FunctionArguments):
    """The arguments of `symbolic_check`."""

    def run(self, tools: SymbolicTools, cancel: Event) -> symbolic_answers.CheckAnswer:
        found, spent = tools.search(self, analysis.AnalysisAim.CHECK, cancel)
        return symbolic_answers.check_answer(self.function_name, found, spent)


class BranchesArguments(FunctionArguments):
    """The arguments of `analyze_branches`."""

    def run(self, tools: SymbolicTools, cancel: Event) -> symbolic_answers.BranchesAnswer:
        found, spent = tools.search(self, analysis.AnalysisAim.BRANCHES, cancel)
        return symbolic_answers.branches_answer(self.function_name, found, spent)


class FindPathArguments(SymbolicArguments):
    """The arguments of `find_path_to_exception`."""

    code: Code
    function_name: FunctionName
    exception_type: DottedName = Field(
        description="A builtin exception, or one that the code has.", examples=["ValueError"]
    )
    timeout_seconds: Timeout

    def run(self, tools: SymbolicTools, cancel: Event) -> symbolic_answers.FindPathAnswer:
        name, kind = self.function_name, self.exception_type
        found, spent = tools.search(self, analysis.AnalysisAim.RAISES, cancel, kind)
        return symbolic_answers.find_path_answer(name, kind, found, spent)


class CompareArguments(SymbolicArguments):
    """The arguments of `compare_functions`."""

    code: Code
    function_a: FunctionName
    function_b: FunctionName
    timeout_seconds: Timeout

    def run(self, tools: SymbolicTools, cancel: Event) -> symbolic_answers.CompareAnswer:
        names, timeout_seconds = (self.function_a, self.function_b), self.timeout_seconds
        started = time.monotonic()
        with tools.sandboxes.opened(self.code, cancel=cancel) as sandbox:
            found = analysis.compare_functions(sandbox, names, timeout_seconds)
        return symbolic_answers.compare_answer(
            names, found, tools.time_since(started, timeout_seconds)
        )


class HealthArguments(SymbolicArguments):
    """The arguments of `health_check`: none."""

    def run(self, tools: SymbolicTools, cancel: Event) -> symbolic_answers.HealthAnswer:
        del cancel  # it ends at once
        versions = {name: _version(name) for name in _DISTRIBUTIONS}
        missing = [name for name, found in versions.items() if found is None]
        sandbox = None
        try:
            sandbox = tools.sandboxes.provider().name
        except (UnavailableError, SandboxError) as fault:
            missing.append(f"a sandbox ({tools.mask.text(str(fault).partition(chr(10))[0])})")
        return symbolic_answers.HealthAnswer(
            message=_health_message(missing),
            version=tools.version,
            python_version=platform.python_version(),
            crosshair_version=versions["crosshair-tool"],
            hypothesis_version=versions["hypothesis"],
            z3_version=versions["z3-solver"],
            sandbox=sandbox,
            missing=tuple(missing),
            tools=offered_tools(installed=tools.installed),
        )


class SymbolicTool(NamedTool):
    """The tools for submitted functions, and for the server itself."""

    arguments: type[SymbolicArguments]

    CHECK = (
        "symbolic_check",
        CheckArguments,
        symbolic_answers.CheckAnswer,
        "Search for an input on which a function breaks its contract (asserts at its top, pre: and "
        "post: lines in its docstring, icontract, deal) or, if it has none, raises an exception "
        "that its docstring does not declare.",
    )
    FIND_PATH = (
        "find_path_to_exception",
        FindPathArguments,
        symbolic_answers.FindPathAnswer,
        "Search for an input on which a function raises an exception.",
    )
    COMPARE = (
        "compare_functions",
        CompareArguments,
        symbolic_answers.CompareAnswer,
        "Search for an input on which two functions in one text differ in what they return, raise "
        "or change, such as an old and a new version.",
    )
    BRANCHES = (
        "analyze_branches",
        BranchesArguments,
        symbolic_answers.BranchesAnswer,
        "Find the branches of a function that inputs reach, with an input for each, the lines that "
        "none reaches, and its cyclomatic complexity.",
    )
    HEALTH = (
        "health_check",
        HealthArguments,
        symbolic_answers.HealthAnswer,
        "Report whether the server works, its versions, and the missing parts.",
    )


def offered_tools(*, installed: bool) -> tuple[SymbolicTool, ...]:
    """The tools that are listed; without the extra, only the health check, which names it."""
    return tuple(SymbolicTool) if installed else (SymbolicTool.HEALTH,)


def _health_message(missing: list[str]) -> str:
    if not missing:
        return "nothing is missing"
    remedy = "" if is_installed(SYMBOLIC) else f"; {install_command('symbolic')}"
    return f"missing: {', '.join(missing)}{remedy}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def error_answer(tool: SymbolicTool, error_type: SymbolicErrorType, message: str) -> JsonObject:
    """An error answer that has every field of the tool's answer, empty."""
    fields = {"status": "error", "error_type": error_type, "message": message}
    answer = tool.answer.model_construct(**fields)  # type: ignore[arg-type]  # names of each answer's own fields
    return answer.model_dump(mode="json", warnings=False)
