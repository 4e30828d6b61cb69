"""The answers of the symbolic tools by ADR-009: never more certain than what was examined."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from agentbench.core.display_text import counted
from agentbench.core.schema import JsonObject, Schema
from agentbench.extensions.symbolic import analysis
from agentbench.extensions.symbolic.analysis import (
    AnalysisResult,
    ComparisonResult,
    SymbolicErrorType,
)
from agentbench.test_tools.envelope import PathMask

_NO_PROOF = "this is no proof: longer inputs and deeper paths were not examined"
_MAX_BRANCHES = 200
_CUT_OFF_SHARE = 0.9  # of the time: a search that used this much was ended by the limit
_Verdict = tuple[str, SymbolicErrorType | None, str]  # status, error and message


class SearchBounds(Schema):
    """The bounds within which an answer is valid."""

    exhaustive: bool = Field(
        default=False, description="every path was explored: it is proven for these types"
    )
    paths_explored: int = 0
    paths_given_up: int = 0
    max_paths: int = 0
    inputs_tried: int = 0
    seconds: float = 0.0


class ObservedCall(Schema):
    """A call that was really made."""

    call: str
    inputs: dict[str, str] = Field(default_factory=dict)
    outcome: str = ""  # `returns 1`, `raises ZeroDivisionError: division by zero`
    condition: str = ""  # of the contract, which does not hold
    line: int | None = None


class SymbolicAnswer(Schema):
    """The common fields of all answers."""

    status: str
    error_type: SymbolicErrorType | None = None
    message: str
    time_seconds: float = 0.0


class CheckAnswer(SymbolicAnswer):
    """The answer of `symbolic_check`."""

    status: Literal["verified", "counterexample", "error", "timeout"]
    counterexamples: tuple[ObservedCall, ...] = ()
    paths_explored: int = 0
    paths_verified: int = 0
    coverage_estimate: float = Field(default=0.0, description="of the function's lines, 0 to 1")
    checked: str = Field(default="", description="what the function was held to")
    assumed_types: tuple[dict[str, str], ...] = ()
    bounds: SearchBounds = Field(default_factory=SearchBounds)


class FindPathAnswer(SymbolicAnswer):
    """The answer of `find_path_to_exception`."""

    status: Literal["found", "unreachable", "error"]
    triggering_inputs: tuple[ObservedCall, ...] = ()
    paths_to_exception: int = 0
    total_paths_explored: int = 0
    assumed_types: tuple[dict[str, str], ...] = ()
    bounds: SearchBounds = Field(default_factory=SearchBounds)


class CompareAnswer(SymbolicAnswer):
    """The answer of `compare_functions`."""

    status: Literal["equivalent", "different", "error"]
    distinguishing_input: str | None = None
    result_a: str | None = None
    result_b: str | None = None
    paths_explored: int = 0
    confidence: Literal["proven", "tested", "none"] = "none"
    bounds: SearchBounds = Field(default_factory=SearchBounds)


class BranchesAnswer(SymbolicAnswer):
    """The answer of `analyze_branches`."""

    status: Literal["complete", "error"]
    branches: tuple[analysis.FunctionBranch, ...] = ()
    total_branches: int = 0
    reachable_branches: int = 0
    dead_code_lines: tuple[int, ...] = Field(
        default=(), description="proven, by all paths or by form"
    )
    cyclomatic_complexity: int = 0
    assumed_types: tuple[dict[str, str], ...] = ()
    bounds: SearchBounds = Field(default_factory=SearchBounds)


class HealthAnswer(SymbolicAnswer):
    """The answer of `health_check`."""

    status: Literal["healthy"] = "healthy"
    version: str = ""
    python_version: str = ""
    crosshair_version: str | None = None
    hypothesis_version: str | None = None
    z3_version: str | None = None
    sandbox: str | None = Field(default=None, description="what code is run in")
    missing: tuple[str, ...] = Field(default=(), description="what is not there, by name")
    tools: tuple[str, ...] = ()


class CallTime:
    """The time limit and the time of a call, and the mask for host paths in its texts."""

    def __init__(self, *, timeout_seconds: float, took: float, mask: PathMask) -> None:
        self.timeout_seconds, self.took, self.mask = timeout_seconds, round(took, 4), mask

    @property
    def exceeded(self) -> str:
        return f"the analysis exceeded its timeout of {self.timeout_seconds:g} seconds"


def check_answer(name: str, found: AnalysisResult, spent: CallTime) -> CheckAnswer:
    """The answer of `symbolic_check` to a search."""
    nothing = f"no counterexample to {name}"
    words = _SearchWords(
        hit="counterexample",
        none="verified",
        over="timeout",
        proven=f"{nothing} on any of its {_paths(found)}; checked: {found.checked}",
        unproven=f"{nothing} found{_within_bounds(found)}; checked: {found.checked}",
    )
    return CheckAnswer.model_validate(
        {
            **_common_fields(found, _search_verdict(name, found, spent, words), spent),
            "counterexamples": _calls(found.findings, spent.mask),
            "paths_explored": found.paths,
            "paths_verified": found.verified,
            "coverage_estimate": found.coverage,
            "checked": found.checked,
        }
    )


def find_path_answer(
    name: str, kind: str, found: AnalysisResult, spent: CallTime
) -> FindPathAnswer:
    """The answer of `find_path_to_exception` to a search."""
    words = _SearchWords(
        hit="found",
        none="unreachable",
        over="error",
        proven=f"{name} raises no {kind} on any of its {_paths(found)}",
        unproven=f"{name} was not seen to raise {kind}{_within_bounds(found)}",
    )
    return FindPathAnswer.model_validate(
        {
            **_common_fields(found, _search_verdict(name, found, spent, words), spent),
            "triggering_inputs": _calls(found.findings, spent.mask),
            "paths_to_exception": found.hits,
            "total_paths_explored": found.paths,
        }
    )


def branches_answer(name: str, found: AnalysisResult, spent: CallTime) -> BranchesAnswer:
    """The answer of `analyze_branches` to a search."""
    error, message = _branches_verdict(name, found, spent)
    verdict = "complete" if error is None else "error", error, message
    return BranchesAnswer.model_validate(
        {
            **_common_fields(found, verdict, spent),
            "branches": found.branches[:_MAX_BRANCHES],
            "total_branches": len(found.branches),
            "reachable_branches": _reachable_count(found),
            "dead_code_lines": found.dead,
            "cyclomatic_complexity": found.complexity,
        }
    )


def compare_answer(
    names: tuple[str, str], found: ComparisonResult | AnalysisResult, spent: CallTime
) -> CompareAnswer:
    """The answer of `compare_functions` to a comparison, or to a search that explains its lack."""
    answer = ComparisonResult(ending=analysis.ComparisonEnding.NOT_COMPARED)
    if isinstance(found, ComparisonResult):
        answer, verdict = found, _answer_verdict(names, found, spent)
    elif found.over:
        verdict = "error", SymbolicErrorType.TIMEOUT, spent.exceeded
    else:
        verdict = "error", found.error_type, found.message
    difference, mask = answer.difference, spent.mask
    proven = verdict[0] == "equivalent" and answer.exhausted
    sure = "none" if verdict[0] == "error" else "proven" if proven or difference else "tested"
    return CompareAnswer.model_validate(
        {
            **_verdict_fields(verdict, spent),
            "distinguishing_input": None if difference is None else difference.call,
            "result_a": None if difference is None else mask.text(difference.left),
            "result_b": None if difference is None else mask.text(difference.right),
            "paths_explored": answer.paths_explored,
            "confidence": sure,
            "bounds": SearchBounds(
                exhaustive=proven,
                paths_explored=answer.paths_explored,
                inputs_tried=answer.inputs_tried,
                seconds=spent.timeout_seconds,
            ),
        }
    )


def _verdict_fields(verdict: _Verdict, spent: CallTime) -> JsonObject:
    status, error, message = verdict
    message, took = spent.mask.text(message), spent.took
    return {"status": status, "error_type": error, "message": message, "time_seconds": took}


def _common_fields(found: AnalysisResult, verdict: _Verdict, spent: CallTime) -> JsonObject:
    bounds = SearchBounds(
        exhaustive=found.exhausted and not found.unconfirmed,
        paths_explored=found.paths,
        paths_given_up=sum(found.given_up.values()),
        max_paths=analysis.MOST_PATHS,
        inputs_tried=found.tried,
        seconds=spent.timeout_seconds,
    )
    return {**_verdict_fields(verdict, spent), "assumed_types": found.assumed, "bounds": bounds}


class _SearchWords(NamedTuple):
    hit: str  # the status with a finding
    none: str  # without one
    over: str  # if the time ran out
    proven: str  # the message if all paths were followed
    unproven: str


def _search_verdict(
    name: str, found: AnalysisResult, spent: CallTime, words: _SearchWords
) -> _Verdict:
    refusal = _error_of(found)
    if refusal is not None:
        return "error", *refusal
    if found.findings:
        finding = found.findings[0]
        broken = {"broken": "; this does not hold: ", "changed": "; this argument was changed: "}
        more = f"{broken[finding.ending]}{finding.what}" if finding.ending in broken else ""
        message = "" if finding.line is None else f" (line {finding.line})"
        return words.hit, None, (f"{finding.call} {finding.said or finding.ending}{message}{more}")
    if found.exhausted:
        return words.none, None, words.proven
    if found.over:
        return words.over, SymbolicErrorType.TIMEOUT, f"{spent.exceeded}; {_so_far(found)}"
    if not found.verified:
        return "error", SymbolicErrorType.RUNTIME, _nothing_explored(name, found)
    return words.none, None, words.unproven


def _branches_verdict(
    name: str, found: AnalysisResult, spent: CallTime
) -> tuple[SymbolicErrorType | None, str]:
    refusal = _error_of(found, but_unconfirmed=False)
    if refusal is not None:
        return refusal
    if found.over:
        return SymbolicErrorType.TIMEOUT, f"{spent.exceeded}; {_so_far(found)}"
    if not found.hits:
        return SymbolicErrorType.RUNTIME, _nothing_explored(name, found)
    reached = f"{_reachable_count(found)} of {len(found.branches)} branches of {name} are reached"
    if len(found.branches) > _MAX_BRANCHES:
        reached += f" (the first {_MAX_BRANCHES} are shown)"
    if found.exhausted and not found.unconfirmed:
        return None, f"{reached}, on all of its {_paths(found)}: no input reaches the others"
    return None, f"{reached}{_within_bounds(found)}"


def _answer_verdict(names: tuple[str, str], answer: ComparisonResult, spent: CallTime) -> _Verdict:
    one, other = names
    difference = answer.difference
    if answer.ending is analysis.ComparisonEnding.DIFFERENT and difference is not None:
        detail = f"on {difference.call}, {one} {difference.left} and {other} {difference.right}"
        return "different", None, detail
    unfinished = answer.ending is analysis.ComparisonEnding.NO_DIFFERENCE and not answer.exhausted
    short = (
        answer.inputs_tried < analysis.EXAMPLES
        and answer.time_spent >= _CUT_OFF_SHARE * spent.timeout_seconds
    )
    if unfinished and short:
        detail = f"no difference on {counted(answer.inputs_tried, 'input')} until then"
        return "error", SymbolicErrorType.TIMEOUT, f"{spent.exceeded}; {detail}"
    compared = answer.inputs_tried or answer.paths_explored
    if answer.ending is not analysis.ComparisonEnding.NO_DIFFERENCE or not compared:
        why = answer.why or "no input could be made for them"
        return "error", SymbolicErrorType.RUNTIME, f"{one} and {other} were not compared: {why}"
    if answer.exhausted:
        explored = counted(answer.paths_explored, "path")
        detail = f"{one} and {other} behave alike on every path ({explored})"
        return "equivalent", None, detail
    message = f"no difference between {one} and {other} on {counted(answer.inputs_tried, 'input')}"
    more = f" ({answer.why})" if answer.why else ""
    return (
        "equivalent",
        None,
        f"{message} and {counted(answer.paths_explored, 'path')}{more}; {_NO_PROOF}",
    )


def _error_of(
    found: AnalysisResult, *, but_unconfirmed: bool = True
) -> tuple[SymbolicErrorType, str] | None:
    if found.error_type is not None:
        return found.error_type, found.message
    if but_unconfirmed and found.unconfirmed and not found.findings:
        call = found.unconfirmed[0]
        message = f"the search reports {call}, but a real call does not confirm it"
        return SymbolicErrorType.RUNTIME, f"{message}: no result"
    return None


def _paths(found: AnalysisResult) -> str:
    return f"{counted(found.paths, 'path')}, for arguments of the types that it names"


def _so_far(found: AnalysisResult) -> str:
    return f"{counted(found.paths, 'path')} until then, {found.verified} followed to the end"


def _within_bounds(found: AnalysisResult) -> str:
    types = " and ".join(", ".join(f"{n}: {t}" for n, t in each.items()) for each in found.assumed)
    assumed = f", assuming {types}" if types else ""
    return f" within {counted(found.paths, 'path')}{assumed}{_given_up_text(found)}; {_NO_PROOF}"


def _given_up_text(found: AnalysisResult) -> str:
    count = sum(found.given_up.values())
    return f", {count} of which were given up ({', '.join(found.given_up)})" if count else ""


def _nothing_explored(name: str, found: AnalysisResult) -> str:
    why = _given_up_text(found) or ", none with arguments that its preconditions and types allow"
    return f"no path of {name} was followed to its end: {found.paths} were begun{why}"


def _calls(
    findings: Sequence[analysis.AnalysisFinding], mask: PathMask
) -> tuple[ObservedCall, ...]:
    return tuple(
        ObservedCall(
            call=each.call,
            inputs=dict(each.inputs),
            outcome=mask.text(each.said or ""),
            condition=(each.what or "") if each.ending in ("broken", "changed") else "",
            line=each.line,
        )
        for each in findings
    )


def _reachable_count(found: AnalysisResult) -> int:
    return sum(branch.reachable is True for branch in found.branches)
