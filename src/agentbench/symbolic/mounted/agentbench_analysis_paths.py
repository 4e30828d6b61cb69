"""Follows a function's paths with symbolic arguments, and finds an input for each."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import BoundArguments, Signature

from agentbench_alarm import Alarm, OverError
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

_OF_THE_SEARCH = (RecursionError, MemoryError)  # it has less room for them than a call has


@dataclass
class Explored:
    """What came of following paths."""

    paths: int = 0
    verified: int = 0  # followed to their end, in which nothing was found
    given_up: collections.Counter[str] = field(default_factory=collections.Counter)
    exhausted: bool = False  # every path was followed to its end
    over: bool = False  # the time was, before that
    stopped: bool = False  # whoever looked had seen enough
    coverage: float = 0.0


@dataclass(frozen=True)
class Bounds:
    """How far to go."""

    paths: int
    idle_paths: int  # in a row that bring nothing new
    until: float  # of time.monotonic()
    alarm: Alarm  # that rings when all is over


@dataclass(frozen=True)
class Path:
    """One path, and an input that takes it, as text."""

    arguments: str
    references: tuple[tuple[str, str], ...]  # what the text names: module and qualified name
    seen: object  # what `run` returned


class Look:
    """What is done on each path, and with it."""

    def run(self, given: BoundArguments, old: Mapping[str, object]) -> object:
        """Call the function, with symbolic arguments; `old` are the same once more."""
        raise NotImplementedError

    def failed(self, fault: BaseException) -> object:
        """What `run` came to when it raised."""
        raise NotImplementedError

    def wants(self, seen: object) -> bool:
        """Whether an input for the path is of interest."""
        raise NotImplementedError

    def take(self, path: Path) -> bool:
        """Take a path of interest; says whether to stop."""
        raise NotImplementedError

    def skips(self, seen: object) -> bool:
        """Whether the path's input is none that the function is for."""
        raise NotImplementedError


def explore(
    look: Look,
    signature: Signature,
    code_of: Callable[..., object],
    bounds: Bounds,
    tell: Callable[[Explored], None],
) -> Explored:
    """Follow paths until they or the bounds are exhausted, or the look has seen enough."""
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
    covered: set[int] = set()
    walk = _Walk(look, signature, code_of, bounds, explored, covered, tell)
    try:
        result = explore_loop(options, RootNode(), walk.step)
        status = result.top_analysis and result.top_analysis.verification_status
        explored.exhausted = result.exhausted and status is VerificationStatus.CONFIRMED
    except OverError:
        explored.over = True
    explored.over |= time.monotonic() >= bounds.until and not explored.exhausted
    return explored


@dataclass
class _Walk:
    look: Look
    signature: Signature
    code_of: Callable[..., object]
    bounds: Bounds
    explored: Explored
    covered: set[int]
    tell: Callable[[Explored], None]

    def step(self, space: StateSpace) -> PathOutcome:
        """One path."""
        self.explored.paths += 1
        self.tell(self.explored)
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
        original = gen_args(self.signature)
        given = deepcopyext(original, CopyMode.REGULAR, {})
        coverage = CoverageTracingModule(self.code_of)
        seen: object = None
        with ExceptionFilter() as caught, PushedModule(coverage), ResumedTracing():
            seen = self.look.run(given, original.arguments)
        if self.bounds.alarm.rang:  # whatever came out of the path
            raise OverError
        self._count(coverage)
        if caught.user_exc is not None:
            if isinstance(caught.user_exc[0], NotDeterministic):
                raise caught.user_exc[0]
            seen = self.look.failed(caught.user_exc[0])
        elif caught.ignore:
            return caught.analysis
        if self.look.skips(seen):
            return CallAnalysis()
        if self.look.wants(seen):
            self.explored.stopped = self.look.take(self._realized(space, original, seen))
        elif caught.user_exc is not None and isinstance(caught.user_exc[0], _OF_THE_SEARCH):
            self.explored.given_up[type(caught.user_exc[0]).__name__] += 1
            return CallAnalysis(VerificationStatus.UNKNOWN)
        else:
            self.explored.verified += 1
        return CallAnalysis(VerificationStatus.CONFIRMED)

    def _count(self, coverage: CoverageTracingModule) -> None:
        """Add the lines of the function that a path went through."""
        code = self.code_of.__code__
        seen = coverage.get_results(self.code_of).offsets_covered
        lines: dict[int | None, set[int]] = collections.defaultdict(set)
        for start, end, line in code.co_lines():
            lines[line] |= set(range(start, end))
        body = {
            line: each for line, each in lines.items() if line not in (None, code.co_firstlineno)
        }
        self.covered |= {line for line, offsets in (body or lines).items() if offsets & seen}
        self.explored.coverage = len(self.covered) / max(1, len(body or lines))

    def _realized(self, space: StateSpace, original: BoundArguments, seen: object) -> Path:
        with ResumedTracing():
            space.detach_path()
            reprer = context_statespace().extra(LazyCreationRepr)
            text = reprer.eval_friendly_format(original, format_boundargs)
            named = {(each.modulename, each.qualname) for each in reprer.repr_references}
        return Path(arguments=text, references=tuple(sorted(named)), seen=seen)
