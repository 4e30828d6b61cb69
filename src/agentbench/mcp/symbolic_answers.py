"""What a search came to, in the words of ADR-009: never more certain than what was examined."""

from collections.abc import Sequence

from agentbench.mcp.symbolic_schemas import (
    BranchesAnswer,
    CheckAnswer,
    CompareAnswer,
    FindPathAnswer,
    ObservedCall,
    SearchBounds,
    SymbolicErrorType,
)
from agentbench.pytest_results.tool_calls.path_masking import PathMask
from agentbench.symbolic.analysis import (
    EXAMPLES,
    MOST_PATHS,
    AnalysisFinding,
    AnalysisResult,
    FunctionComparison,
)
from agentbench.symbolic.comparison import ComparisonEnding, ComparisonResult

_NO_PROOF = "this is no proof: longer inputs and deeper paths were not looked at"
_MAX_BRANCHES = 200
_CUT_OFF_SHARE = 0.9  # of the time: who used so much of it was cut off by it


class CallTime:
    """The time that a call was given and took, and what keeps host paths out of its words."""

    def __init__(self, *, given: float, took: float, mask: PathMask) -> None:
        self.given, self.took, self.mask = given, round(took, 4), mask

    @property
    def exceeded(self) -> str:
        """That the time is over, in words."""
        return f"the analysis exceeded its timeout of {self.given:g} seconds"


def check_answer(name: str, found: AnalysisResult, spent: CallTime) -> CheckAnswer:
    """What `symbolic_check` says of a search."""
    status, error, message = _check_verdict(name, found, spent)
    return CheckAnswer.model_validate(
        {
            "status": status,
            "error_type": error,
            "message": spent.mask.text(message),
            "time_seconds": spent.took,
            "counterexamples": _calls(found.findings, spent.mask),
            "paths_explored": found.paths,
            "paths_verified": found.verified,
            "coverage_estimate": found.coverage,
            "checked": found.checked,
            "assumed_types": found.assumed,
            "bounds": _bounds(found, spent),
        }
    )


def find_path_answer(
    name: str, kind: str, found: AnalysisResult, spent: CallTime
) -> FindPathAnswer:
    """What `find_path_to_exception` says of a search."""
    status, error, message = _path_verdict(name, kind, found, spent)
    return FindPathAnswer.model_validate(
        {
            "status": status,
            "error_type": error,
            "message": spent.mask.text(message),
            "time_seconds": spent.took,
            "triggering_inputs": _calls(found.findings, spent.mask),
            "paths_to_exception": found.hits,
            "total_paths_explored": found.paths,
            "assumed_types": found.assumed,
            "bounds": _bounds(found, spent),
        }
    )


def branches_answer(name: str, found: AnalysisResult, spent: CallTime) -> BranchesAnswer:
    """What `analyze_branches` says of a search."""
    error, message = _branches_verdict(name, found, spent)
    return BranchesAnswer.model_validate(
        {
            "status": "complete" if error is None else "error",
            "error_type": error,
            "message": spent.mask.text(message),
            "time_seconds": spent.took,
            "branches": found.branches[:_MAX_BRANCHES],
            "total_branches": len(found.branches),
            "reachable_branches": _reachable_count(found),
            "dead_code_lines": found.dead,
            "cyclomatic_complexity": found.complexity,
            "assumed_types": found.assumed,
            "bounds": _bounds(found, spent),
        }
    )


def compare_answer(
    names: tuple[str, str], likeness: FunctionComparison, spent: CallTime
) -> CompareAnswer:
    """What `compare_functions` says of a comparison."""
    answer = likeness.answer or ComparisonResult(ending=ComparisonEnding.NOT_COMPARED)
    status, error, message = _likeness_verdict(names, likeness, spent)
    seen, mask = answer.difference, spent.mask
    proven = status == "equivalent" and answer.exhausted
    sure = "none" if status == "error" else "proven" if proven or seen else "tested"
    return CompareAnswer.model_validate(
        {
            "status": status,
            "error_type": error,
            "message": mask.text(message),
            "time_seconds": spent.took,
            "distinguishing_input": None if seen is None else seen.call,
            "result_a": None if seen is None else mask.text(seen.left),
            "result_b": None if seen is None else mask.text(seen.right),
            "paths_explored": answer.paths_explored,
            "confidence": sure,
            "bounds": SearchBounds(
                exhaustive=proven,
                paths_explored=answer.paths_explored,
                inputs_tried=answer.inputs_tried,
                seconds=spent.given,
            ),
        }
    )


_Verdict = tuple[str, SymbolicErrorType | None, str]


def _check_verdict(name: str, found: AnalysisResult, spent: CallTime) -> _Verdict:
    refusal = _error_of(found)
    if refusal is not None:
        return "error", *refusal
    if found.findings:
        first = found.findings[0]
        return "counterexample", None, _describe_finding(first)
    if found.exhausted:
        checked = f"no counterexample to {name} on any of its {_paths(found)}"
        return "verified", None, f"{checked}; checked: {found.checked}"
    if found.over:
        return "timeout", SymbolicErrorType.TIMEOUT, f"{spent.exceeded}; {_so_far(found)}"
    if not found.verified:
        return "error", SymbolicErrorType.RUNTIME, _nothing_explored(name, found)
    message = f"no counterexample to {name} found{_within_bounds(found)}"
    return "verified", None, f"{message}; checked: {found.checked}"


def _path_verdict(name: str, kind: str, found: AnalysisResult, spent: CallTime) -> _Verdict:
    refusal = _error_of(found)
    if refusal is not None:
        return "error", *refusal
    if found.findings:
        return "found", None, _describe_finding(found.findings[0])
    if found.exhausted:
        return "unreachable", None, f"{name} raises no {kind} on any of its {_paths(found)}"
    if found.over:
        return "error", SymbolicErrorType.TIMEOUT, f"{spent.exceeded}; {_so_far(found)}"
    if not found.verified:
        return "error", SymbolicErrorType.RUNTIME, _nothing_explored(name, found)
    return "unreachable", None, f"{name} was not seen to raise {kind}{_within_bounds(found)}"


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
    counted = f"{_reachable_count(found)} of {len(found.branches)} ways of {name} are reached"
    if len(found.branches) > _MAX_BRANCHES:
        counted += f" (the first {_MAX_BRANCHES} are shown)"
    if found.exhausted and not found.unconfirmed:
        return None, f"{counted}, on all of its {_paths(found)}: no input reaches the others"
    return None, f"{counted}{_within_bounds(found)}"


def _likeness_verdict(
    names: tuple[str, str], likeness: FunctionComparison, spent: CallTime
) -> _Verdict:
    if likeness.refusal is not None and not likeness.over:
        error, message = _error_of(likeness.refusal) or (SymbolicErrorType.RUNTIME, likeness.why)
        return "error", error, message
    if likeness.over:
        return "error", SymbolicErrorType.TIMEOUT, spent.exceeded
    if likeness.answer is None:
        return "error", SymbolicErrorType.RUNTIME, likeness.why
    return _answer_verdict(names, likeness.answer, spent)


def _answer_verdict(names: tuple[str, str], answer: ComparisonResult, spent: CallTime) -> _Verdict:
    one, other = names
    seen = answer.difference
    if answer.ending is ComparisonEnding.DIFFERENT and seen is not None:
        told = f"on {seen.call}, {one} {seen.left} and {other} {seen.right}"
        return "different", None, told
    if _was_cut_off(answer, spent):
        told = f"no difference on {answer.inputs_tried} inputs until then"
        return "error", SymbolicErrorType.TIMEOUT, f"{spent.exceeded}; {told}"
    if answer.ending is not ComparisonEnding.NO_DIFFERENCE or not _was_compared(answer):
        why = answer.why or "no input could be made for them"
        return "error", SymbolicErrorType.RUNTIME, f"{one} and {other} were not compared: {why}"
    if answer.exhausted:
        told = f"{one} and {other} behave alike on all of their {answer.paths_explored} paths"
        return "equivalent", None, told
    message = f"no difference between {one} and {other} on {answer.inputs_tried} inputs"
    more = f" ({answer.why})" if answer.why else ""
    return "equivalent", None, f"{message} and {answer.paths_explored} paths{more}; {_NO_PROOF}"


def _was_cut_off(answer: ComparisonResult, spent: CallTime) -> bool:
    unfinished = answer.ending is ComparisonEnding.NO_DIFFERENCE and not answer.exhausted
    short = answer.inputs_tried < EXAMPLES and answer.time_spent >= _CUT_OFF_SHARE * spent.given
    return unfinished and short


def _was_compared(answer: ComparisonResult) -> bool:
    return bool(answer.inputs_tried or answer.paths_explored)


def _error_of(
    found: AnalysisResult, *, but_unconfirmed: bool = True
) -> tuple[SymbolicErrorType, str] | None:
    if found.error_type is not None:
        return SymbolicErrorType(found.error_type), found.message
    if but_unconfirmed and found.unconfirmed and not found.findings:
        call = found.unconfirmed[0]
        message = f"the search reports {call}, and really calling it shows nothing of the kind"
        return SymbolicErrorType.RUNTIME, f"{message}: nothing can be said"
    return None


def _describe_finding(finding: AnalysisFinding) -> str:
    broken = {"broken": "; this does not hold: ", "changed": "; this argument was changed: "}
    more = f"{broken[finding.ending]}{finding.what}" if finding.ending in broken else ""
    message = "" if finding.line is None else f" (line {finding.line})"
    return f"{finding.call} {finding.said or finding.ending}{message}{more}"


def _paths(found: AnalysisResult) -> str:
    return f"{found.paths} paths, for arguments of the types that it names"


def _so_far(found: AnalysisResult) -> str:
    return f"{found.paths} paths until then, {found.verified} followed to their end"


def _within_bounds(found: AnalysisResult) -> str:
    types = " and ".join(", ".join(f"{n}: {t}" for n, t in each.items()) for each in found.assumed)
    assumed = f", assuming {types}" if types else ""
    return f" within {found.paths} paths{assumed}{_given_up(found)}; {_NO_PROOF}"


def _given_up(found: AnalysisResult) -> str:
    count = sum(found.given_up.values())
    return f", {count} of which were given up ({', '.join(found.given_up)})" if count else ""


def _nothing_explored(name: str, found: AnalysisResult) -> str:
    why = _given_up(found) or ", none with arguments that its preconditions and types allow"
    return f"no path of {name} was followed to its end: {found.paths} were begun{why}"


def _calls(findings: Sequence[AnalysisFinding], mask: PathMask) -> tuple[ObservedCall, ...]:
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


def _bounds(found: AnalysisResult, spent: CallTime) -> SearchBounds:
    return SearchBounds(
        exhaustive=found.exhausted and not found.unconfirmed,
        paths_explored=found.paths,
        paths_given_up=sum(found.given_up.values()),
        max_paths=MOST_PATHS,
        inputs_tried=found.tried,
        seconds=spent.given,
    )


def _reachable_count(found: AnalysisResult) -> int:
    return sum(way.reachable is True for way in found.branches)
