"""Follows a function's paths with symbolic arguments and finds an input for each."""

from __future__ import annotations

import collections
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from crosshair.copyext import CopyMode, deepcopyext
from crosshair.core import (
    ExceptionFilter,
    LazyCreationRepr,
    PathOutcome,
    explore_loop,
    gen_args,
)
from crosshair.options import DEFAULT_OPTIONS, AnalysisOptionSet
from crosshair.statespace import (
    CallAnalysis,
    RootNode,
    StateSpace,
    VerificationStatus,
    context_statespace,
)
from crosshair.tracers import CoverageTracingModule, PushedModule, ResumedTracing
from crosshair.util import NotDeterministic, UnexploredPath, format_boundargs

from .contract import Behaviour
from .foreign_code import OutOfTimeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from inspect import BoundArguments, Signature

    from .foreign_code import Alarm

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


class PathVisitor(Protocol):
    """Calls the function on each path and takes the paths of interest."""

    def run(self, given: BoundArguments, old: Mapping[str, object]) -> Behaviour:
        """Call the function with symbolic arguments; `old` is a copy of them."""

    def wants(self, behaviour: Behaviour) -> bool:
        """Whether an input for the path is of interest."""

    def take(self, path: PathInput) -> bool:
        """Take a path of interest; returns whether to stop."""


@dataclass(frozen=True)
class SearchedFunction:
    """The function whose paths are followed."""

    signature: Signature
    code_of: Callable[..., object]  # the function whose lines are counted


def explore(
    visitor: PathVisitor,
    function: SearchedFunction,
    bounds: SearchBounds,
    report: Callable[[Explored], None],
) -> Explored:
    """Follow paths until they or the bounds are exhausted, or the visitor stops.

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
        result = explore_loop(options, RootNode(), walk.step)
        status = result.top_analysis and result.top_analysis.verification_status
        explored.exhausted = result.exhausted and status is VerificationStatus.CONFIRMED
    except OutOfTimeError:
        explored.over = True
    explored.over |= time.monotonic() >= bounds.until and not explored.exhausted
    return explored


@dataclass
class _Walk:
    visitor: PathVisitor
    function: SearchedFunction
    bounds: SearchBounds
    explored: Explored
    report: Callable[[Explored], None]
    covered: set[int] = field(default_factory=set)

    def step(self, space: StateSpace) -> PathOutcome:
        """Follow one path."""
        self.explored.paths += 1
        self.report(self.explored)
        try:
            analysis = self._follow(space)
        except UnexploredPath as fault:
            self.explored.given_up[type(fault).__name__] += 1
            raise
        except NotDeterministic:
            self.explored.given_up["NotDeterministic"] += 1
            analysis = CallAnalysis(VerificationStatus.UNKNOWN)
        over = time.monotonic() >= self.bounds.until
        return PathOutcome(analysis, breakout=over or self.explored.stopped)

    def _follow(self, space: StateSpace) -> CallAnalysis:
        original = gen_args(self.function.signature)
        given = deepcopyext(original, CopyMode.REGULAR, {})
        coverage = CoverageTracingModule(self.function.code_of)
        behaviour = None
        with ExceptionFilter() as caught, PushedModule(coverage), ResumedTracing():
            behaviour = self.visitor.run(given, original.arguments)
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
            return CallAnalysis()
        if self.visitor.wants(behaviour):
            self.explored.stopped = self.visitor.take(_realize(space, original))
        elif isinstance(fault, _SEARCH_LIMITS):
            self.explored.given_up[type(fault).__name__] += 1
            return CallAnalysis(VerificationStatus.UNKNOWN)
        else:
            self.explored.verified += 1
        return CallAnalysis(VerificationStatus.CONFIRMED)

    def _count_lines(self, coverage: CoverageTracingModule) -> None:
        """Add the lines of the function that a path went through."""
        code = self.function.code_of.__code__
        seen = coverage.get_results(self.function.code_of).offsets_covered
        lines: dict[int | None, set[int]] = collections.defaultdict(set)
        for start, end, line in code.co_lines():
            lines[line] |= set(range(start, end))
        body = {
            line: each for line, each in lines.items() if line not in (None, code.co_firstlineno)
        }
        for line, offsets in (body or lines).items():
            if line is not None and offsets & seen:
                self.covered.add(line)
        self.explored.coverage = len(self.covered) / max(1, len(body or lines))


def _realize(space: StateSpace, original: BoundArguments) -> PathInput:
    """An input for the path that was just followed."""
    with ResumedTracing():
        space.detach_path()
        reprer = context_statespace().extra(LazyCreationRepr)
        text = reprer.eval_friendly_format(original, format_boundargs)
        named = {(each.modulename, each.qualname) for each in reprer.repr_references}
    return PathInput(arguments=text, references=tuple(sorted(named)))
