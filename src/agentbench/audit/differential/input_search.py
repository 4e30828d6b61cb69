"""The search by inputs: functions that differ are called with inputs made for them.

A difference counts if it is reproduced, each tree alone in a fresh sandbox.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import PurePosixPath

from pydantic import ValidationError

from agentbench.audit.differential.search import (
    ComparedAttempt,
    ConfirmedDifference,
    SearchResult,
    copy_workspace,
    failure_text,
    write_changes,
)
from agentbench.audit.differential.task_tests import TaskTests, read_task_tests
from agentbench.audit.differential.tree_difference import DefinitionId, NotCompared, TreeDifference
from agentbench.audit.differential.trees import SourceTree
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import CommandResult, Ending
from agentbench.symbolic.comparison import (
    BehaviourDifference,
    ComparisonRequest,
    ComparisonResult,
    FunctionLocation,
    FunctionPair,
    ReplayRequest,
    ReplayResult,
)
from agentbench.symbolic.comparison import ComparisonEnding as Came

_COMPARE_PROGRAM = "compare"
_MAX_PAIRS = 20  # pairs of an attempt
_LEAST_SECONDS = 2.0  # for a pair
_ALONG_PATHS = 3  # pairs whose paths are searched, too: that takes long
_PATHS_WEIGH = 4.0  # times the seconds of another
_EXAMPLES = 2_000  # inputs made for a pair, where there is time
_GRACE = 20.0  # seconds, to load and to end
_REFERENCE, _AGENT = "reference", "agent"


def search_inputs(subject: ComparedAttempt, seconds: float) -> SearchResult:
    """Compare what can be called, in one sandbox; then confirm what was found, in three others.

    Raises:
        SandboxError: a sandbox is lost.
    """
    tests = read_task_tests(subject.facts)
    ordered = _ordered(subject.contrast, tests)
    most = min(_MAX_PAIRS, max(1, int(seconds / _LEAST_SECONDS)))
    chosen, beyond = ordered[:most], ordered[most:]
    if not chosen:
        return SearchResult()
    answers, why = _compare(subject, chosen, tests, seconds)
    compared = list(zip_longest(chosen, answers))
    differing = [
        (str(spot), answer.difference)
        for spot, answer in compared
        if answer is not None and answer.difference is not None
    ]
    told, doubtful = reproduce_differences(subject, differing)
    return SearchResult(
        differences=told,
        left=(*doubtful, *_uncompared(compared, why), *_without_time(beyond)),
        effort=_effort(answers, len(ordered)),
    )


def _ordered(contrast: TreeDifference, tests: TaskTests) -> list[DefinitionId]:
    """What differs itself goes first, then what tests call: it is known what that is for."""
    differing = set(contrast.differing)

    def rank(spot: DefinitionId) -> tuple[bool, bool]:
        return spot not in differing, not tests.mentions(spot.name)

    return sorted(contrast.callable, key=rank)


def _compare(
    subject: ComparedAttempt, spots: Sequence[DefinitionId], tests: TaskTests, seconds: float
) -> tuple[list[ComparisonResult], str]:
    """The answers, as many as came, and why not more."""
    near, far = spots[:_ALONG_PATHS], spots[_ALONG_PATHS:]
    share = seconds / (_PATHS_WEIGH * len(near) + len(far))
    with subject.bench.opened() as sandbox:
        places = (
            copy_workspace(sandbox, _REFERENCE, subject.trees.reference),
            copy_workspace(sandbox, _AGENT, subject.trees.agents),
        )

        def asked(
            some: Sequence[DefinitionId], weight: float
        ) -> tuple[list[ComparisonResult], str]:
            question = ComparisonRequest(
                pairs=tuple(_pair(subject, spot, places, tests) for spot in some),
                seconds=weight * share,
                examples=_EXAMPLES,
                symbolic=weight > 1,
                literals=tests.literals(),
            )
            limit = weight * share * len(some) + _GRACE
            text = question.model_dump_json()
            return _read_answers(
                subject.bench.ask(sandbox, _COMPARE_PROGRAM, text, seconds=limit), len(some)
            )

        answers, why = asked(near, _PATHS_WEIGH)
        if why or not far:
            return answers, why
        more, why = asked(far, 1)
        return [*answers, *more], why


def _pair(
    subject: ComparedAttempt,
    spot: DefinitionId,
    places: tuple[PurePosixPath, PurePosixPath],
    tests: TaskTests,
) -> FunctionPair:
    left, right = (import_place_of(subject, spot, place) for place in places)
    return FunctionPair(left=left, right=right, observed=tests.calls_of(spot.name))


def import_place_of(
    subject: ComparedAttempt, spot: DefinitionId, tree: PurePosixPath
) -> FunctionLocation:
    """Where a sandbox finds a definition, in a tree that lies in some folder."""
    module = subject.contrast.modules[spot.path]
    roots = dict.fromkeys((tree / module.root, tree))
    return FunctionLocation(paths=tuple(map(str, roots)), module=module.name, name=spot.name)


def _read_answers(result: CommandResult, number: int) -> tuple[list[ComparisonResult], str]:
    """So many answers, or those that came, and why no more did."""
    answers: list[ComparisonResult] = []
    for line in result.stdout.splitlines()[:number]:
        try:
            answers.append(ComparisonResult.model_validate_json(line))
        except ValidationError:
            return answers, "the program that compares was disturbed: what it said is no answer"
    if len(answers) == number:
        return answers, ""
    if result.ending is Ending.TIMED_OUT:
        return answers, "the time was over"
    return answers, f"the program that compares did not end well: {failure_text(result)}"


def _uncompared(
    compared: Iterable[tuple[DefinitionId, ComparisonResult | None]], why: str
) -> Iterator[NotCompared]:
    for spot, answer in compared:
        if answer is None:
            yield NotCompared(str(spot), why)
        elif answer.ending is Came.NOT_COMPARED:
            yield NotCompared(str(spot), answer.why)


def _without_time(spots: Sequence[DefinitionId]) -> Iterator[NotCompared]:
    for spot in spots:
        yield NotCompared(str(spot), "there was no time for so many")


def _effort(answers: Sequence[ComparisonResult], number: int) -> str:
    compared = [one for one in answers if one.ending is not Came.NOT_COMPARED]
    inputs = sum(one.inputs_tried for one in answers)
    paths = sum(one.paths_explored for one in answers)
    whole = sum(one.exhausted for one in compared)
    return (
        f"{len(compared)} of {number} functions compared, with {inputs} inputs "
        f"and along {paths} paths; all paths of {whole} of them"
    )


_REPLAY_PROGRAM = "worker_process"
_REPLAY_SECONDS = 60.0  # for one program
_REPLAY_TIMES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _ThreeReplays:
    """What a program did in the three trees."""

    base: ReplayResult
    reference: ReplayResult
    agents: ReplayResult


def reproduce_differences(
    subject: ComparedAttempt, found: Sequence[tuple[str, BehaviourDifference]]
) -> tuple[tuple[ConfirmedDifference, ...], tuple[NotCompared, ...]]:
    """What was seen again, and what was not, with the reason.

    Raises:
        SandboxError: a sandbox is lost.
    """
    if not found:
        return (), ()
    programs = [difference.program for _, difference in found]
    trees = subject.trees
    base, reference, agents = (
        _replayed(subject, tree, programs) for tree in (trees.base, trees.reference, trees.agents)
    )
    told: list[ConfirmedDifference] = []
    doubtful: list[NotCompared] = []
    for at, (where, difference) in enumerate(found):
        seen = _ThreeReplays(base=base[at], reference=reference[at], agents=agents[at])
        why = _why_not_reproduced(seen)
        if why:
            doubtful.append(NotCompared(where, f"a difference on {difference.call} {why}"))
        else:
            told.append(
                ConfirmedDifference(where=where, what=_difference_text(difference.call, seen))
            )
    return tuple(told), tuple(doubtful)


def _replayed(
    subject: ComparedAttempt, tree: SourceTree, programs: Sequence[tuple[str, ...]]
) -> list[ReplayResult]:
    with subject.bench.opened() as sandbox:
        write_changes(sandbox, sandbox.workspace, tree)
        return [_replay(subject, sandbox, program) for program in programs]


def _replay(subject: ComparedAttempt, sandbox: Sandbox, program: tuple[str, ...]) -> ReplayResult:
    roots = {module.root for module in subject.contrast.modules.values()}
    replay = ReplayRequest(
        paths=_paths(sandbox.workspace, roots), program=program, times=_REPLAY_TIMES
    )
    result = subject.bench.ask(
        sandbox, _REPLAY_PROGRAM, replay.model_dump_json(), seconds=_REPLAY_SECONDS
    )
    return _read_replay(result)


def _paths(workspace: PurePosixPath, roots: set[PurePosixPath]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(workspace / root) for root in [*sorted(roots), PurePosixPath()]))


def _read_replay(result: CommandResult) -> ReplayResult:
    try:
        return ReplayResult.model_validate_json(result.stdout)
    except ValidationError:
        return ReplayResult(outcomes=(), values=(), why=failure_text(result))


def _why_not_reproduced(seen: _ThreeReplays) -> str:
    """Why a difference does not count; empty where it does."""
    for name, replayed in (("reference", seen.reference), ("agent's code", seen.agents)):
        if replayed.why or not replayed.values:
            return f"was not seen again: with the {name}, {replayed.why or 'nothing was said'}"
        if len(set(replayed.values)) > 1:
            return f"is none that counts: the {name} does not do the same each time"
    if seen.reference.values[0] == seen.agents.values[0]:
        return "was not seen again, each tree in a sandbox of its own"
    return ""


def _difference_text(call: str, seen: _ThreeReplays) -> str:
    reference, agents = seen.reference.outcomes[0], seen.agents.outcomes[0]
    base = " / ".join(dict.fromkeys(seen.base.outcomes)) or f"cannot tell: {seen.base.why}"
    return (
        f"differs from the reference on {call}: {agents}; the reference {reference} (base: {base})"
    )
