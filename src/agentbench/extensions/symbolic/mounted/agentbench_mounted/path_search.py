"""Follows a function's paths to broken contracts, exceptions or branches; finds their inputs."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import BoundArguments

from crosshair import statespace
from crosshair.copyext import CopyMode, deepcopyext
from crosshair.core import ExceptionFilter, LazyCreationRepr, PathOutcome, explore_loop, gen_args
from crosshair.options import DEFAULT_OPTIONS, AnalysisOptionSet
from crosshair.tracers import CoverageTracingModule, PushedModule, ResumedTracing
from crosshair.util import ControlFlowException, NotDeterministic, UnexploredPath, format_boundargs

from .contract import Behaviour, Contract, behave
from .foreign_code import Alarm, OutOfTimeError, call_foreign
from .messages import Json
from .side_effects import BlockedError
from .submitted_code import cut

_MOST_FINDINGS = 5
_MOST_CALLS = 250
_MORE_SECONDS = 2.0  # for which a search goes on after its first finding
_PLAIN_SECONDS = 0.5
_MOST_CALL = 1500  # characters of a call that is shown
_FAILING = ("raised", "broken", "changed")
_REPORTED_KEYS = ("inputs", "ending", "said", "type", "line", "what")
_SEARCH_LIMITS = (RecursionError, MemoryError)  # a search reaches them earlier than a call


@dataclass
class Explored:
    """Counts of a search along paths."""

    paths: int = 0
    verified: int = 0  # followed to their end, without a finding
    given_up: collections.Counter[str] = field(default_factory=collections.Counter)
    exhausted: bool = False  # every path was followed to its end
    over: bool = False  # the time was over before that
    stopped: bool = False  # by the visitor
    coverage: float = 0.0


@dataclass(frozen=True)
class SearchBounds:
    """The limits of a search."""

    paths: int
    idle_paths: int  # in a row without anything new
    until: float  # of time.monotonic()
    alarm: Alarm  # it rings when the time for all searches is over


@dataclass(frozen=True)
class PathInput:
    """An input that takes one path, as text."""

    arguments: str
    references: tuple[tuple[str, str], ...] = ()  # names in the text: module and qualified name


def explore(
    visitor: ContractVisitor,
    function: Callable[..., object],
    bounds: SearchBounds,
    report: Callable[[Explored], None],
) -> Explored:
    """Follow paths until they or the bounds are exhausted or the visitor stops; count lines.

    Args:
        visitor: Calls the function.
        function: The function.
        bounds: The limits.
        report: Is called with the counts at each path.
    """
    explored = Explored()
    seconds = max(0.1, bounds.until - time.monotonic())
    options = DEFAULT_OPTIONS.overlay(
        AnalysisOptionSet(
            per_condition_timeout=seconds,
            per_path_timeout=max(1.0, min(10.0, seconds / 4)),
            max_iterations=bounds.paths,
            max_uninteresting_iterations=bounds.idle_paths,
        )
    )
    walk = _Walk(visitor, function, bounds, explored, report)
    try:
        result = explore_loop(options, statespace.RootNode(), walk.step)
        status = result.top_analysis and result.top_analysis.verification_status
        explored.exhausted = result.exhausted and status is statespace.VerificationStatus.CONFIRMED
    except OutOfTimeError:
        explored.over = True
    explored.over |= time.monotonic() >= bounds.until and not explored.exhausted
    return explored


@dataclass
class _Walk:
    visitor: ContractVisitor
    function: Callable[..., object]
    bounds: SearchBounds
    explored: Explored
    report: Callable[[Explored], None]
    covered: set[int] = field(default_factory=set)

    def step(self, space: statespace.StateSpace) -> PathOutcome:
        self.explored.paths += 1
        self.report(self.explored)
        try:
            analysis = self._follow(space)
        except UnexploredPath as fault:
            self.explored.given_up[type(fault).__name__] += 1
            raise
        except NotDeterministic:
            self.explored.given_up["NotDeterministic"] += 1
            analysis = statespace.CallAnalysis(statespace.VerificationStatus.UNKNOWN)
        over = time.monotonic() >= self.bounds.until
        return PathOutcome(analysis, breakout=over or self.explored.stopped)

    def _follow(self, space: statespace.StateSpace) -> statespace.CallAnalysis:
        original = gen_args(self.visitor.contract.signature)
        bound_arguments = deepcopyext(original, CopyMode.REGULAR, {})
        coverage = CoverageTracingModule(self.function)
        behaviour = None
        with ExceptionFilter() as caught, PushedModule(coverage), ResumedTracing():
            behaviour = self.visitor.run(bound_arguments, original.arguments)
        if self.bounds.alarm.rang:  # whatever came out of the path
            raise OutOfTimeError
        self._count_lines(coverage)
        fault = caught.user_exc[0] if caught.user_exc is not None else None
        if isinstance(fault, NotDeterministic):
            raise fault
        if fault is not None:
            behaviour = Behaviour("raised", fault=fault)
        elif caught.ignore:
            return caught.analysis
        assert behaviour is not None
        if behaviour.ending == "outside":  # the contract excludes this input
            return statespace.CallAnalysis()
        if self.visitor.wants(behaviour):
            # An input for the path that was just followed.
            with ResumedTracing():
                space.detach_path()
                reprer = statespace.context_statespace().extra(LazyCreationRepr)
                text = reprer.eval_friendly_format(original, format_boundargs)
                named = {(each.modulename, each.qualname) for each in reprer.repr_references}
            self.explored.stopped = self.visitor.take(
                PathInput(arguments=text, references=tuple(sorted(named)))
            )
        elif isinstance(fault, _SEARCH_LIMITS):
            self.explored.given_up[type(fault).__name__] += 1
            return statespace.CallAnalysis(statespace.VerificationStatus.UNKNOWN)
        else:
            self.explored.verified += 1
        return statespace.CallAnalysis(statespace.VerificationStatus.CONFIRMED)

    def _count_lines(self, coverage: CoverageTracingModule) -> None:
        """Add the lines of the function that a path went through."""
        code = self.function.__code__
        covered_offsets = coverage.get_results(self.function).offsets_covered
        lines: dict[int | None, set[int]] = collections.defaultdict(set)
        for start, end, line in code.co_lines():
            lines[line] |= set(range(start, end))
        body = {
            line: each for line, each in lines.items() if line not in (None, code.co_firstlineno)
        }
        for line, offsets in (body or lines).items():
            if line is not None and offsets & covered_offsets:
                self.covered.add(line)
        self.explored.coverage = len(self.covered) / max(1, len(body or lines))


@dataclass
class ContractVisitor:
    """Looks for a broken contract: calls the function on each path, and for real if it breaks."""

    name: str
    contract: Contract
    replay: Callable[[Json], Json]
    is_class_method: bool = False
    findings: list[Json] = field(default_factory=list)
    unconfirmed: list[str] = field(default_factory=list)
    hits: int = 0
    calls: int = 0
    _until: float = float("inf")

    def run(self, bound_arguments: BoundArguments, old: Mapping[str, object]) -> Behaviour:
        result = call_foreign(
            lambda: behave(self.contract, bound_arguments, old),
            catch=BaseException,
            let_through=(Exception, ControlFlowException, OutOfTimeError, BlockedError),
        )
        # An error that is no Exception, such as SystemExit, is a behaviour like another.
        return result.value or Behaviour("raised", fault=result.error)

    def wants(self, behaviour: Behaviour) -> bool:
        return behaviour.ending in _FAILING

    def take(self, path: PathInput) -> bool:
        """Add a finding if a real call confirms it and it is new."""
        self.hits += 1
        real = self._call(path)
        if not self._is_confirmed(real):
            self.unconfirmed.append(self._call_text(path))
        elif _identity(real) not in map(_identity, self.findings):
            self._add(path, real)
            self._until = min(self._until, time.monotonic() + _MORE_SECONDS)
        many = len(self.findings) >= _MOST_FINDINGS or self.calls >= _MOST_CALLS
        return many or time.monotonic() >= self._until

    def try_plain(self, arguments: str) -> bool:
        """Really call it with arguments that no search has found; returns whether that ended."""
        real = self.replay({"arguments": arguments, "references": [], "seconds": _PLAIN_SECONDS})
        if self._is_confirmed(real) and real.get("type") != "MemoryError":  # memory is limited here
            self.hits += 1
            self._add(PathInput(arguments=arguments), real)
        return real.get("ending") not in ("hung", "died")

    def _add(self, path: PathInput, real: Json) -> None:
        facts = {name: real.get(name) for name in _REPORTED_KEYS}
        self.findings.append({"call": self._call_text(path), **facts})

    # The call as a user would write it; the name of a class method includes its class.
    def _call_text(self, path: PathInput) -> str:
        arguments = path.arguments.partition(", ")[2] if self.is_class_method else path.arguments
        return cut(f"{self.name}({arguments})", _MOST_CALL)

    def _call(self, path: PathInput) -> Json:
        self.calls += 1
        return self.replay({"arguments": path.arguments, "references": path.references})

    def _is_confirmed(self, real: Json) -> bool:
        return real.get("ending") in _FAILING


@dataclass
class ExceptionVisitor(ContractVisitor):
    """Looks for an exception."""

    kind: type[BaseException] = BaseException

    def wants(self, behaviour: Behaviour) -> bool:
        return isinstance(behaviour.fault, self.kind)

    def _is_confirmed(self, real: Json) -> bool:
        return real.get("ending") == "raised" and real.get("matches") is True


@dataclass
class BranchVisitor(ContractVisitor):
    """Looks for the branches that real calls take, and keeps a call for each."""

    taken: set[int] = field(default_factory=set)  # filled by the marked code
    examples: dict[int, str] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)

    def run(self, bound_arguments: BoundArguments, old: Mapping[str, object]) -> Behaviour:
        """Call it, and record the branches of this call only."""
        self.taken.clear()
        return super().run(bound_arguments, old)

    # Each path may show a line that no other shows.
    def wants(self, behaviour: Behaviour) -> bool:
        del behaviour
        return True

    def take(self, path: PathInput) -> bool:
        self.hits += 1
        real = self._call(path)
        taken = set(real.get("went", ()))
        if not self.taken <= taken:  # the search took a branch that the real call does not take
            self.unconfirmed.append(self._call_text(path))
        for number in taken:
            self.examples.setdefault(number, self._call_text(path))
        self.lines |= set(real.get("lines", ()))
        return self.calls >= _MOST_CALLS


def _identity(real: Json) -> tuple[object, ...]:
    return real.get("type"), real.get("line"), real.get("what")
