"""The search by inputs: differing functions are called with generated inputs.

A difference counts if it is reproduced, with each tree in its own fresh sandbox.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import NamedTuple

from pydantic import ValidationError

from agentbench.audit.rule import RuleHit, warning
from agentbench.extensions.symbolic import analysis
from agentbench.extensions.symbolic.analysis import ComparisonEnding, ComparisonResult, ReplayResult
from agentbench.extensions.symbolic.differential import search
from agentbench.extensions.symbolic.differential.tree_difference import (
    DefinitionId,
    NotCompared,
    TreeDifference,
)
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import Ending

_COMPARE_PROGRAM = "compare"
_MAX_PAIRS = 20  # pairs of an attempt
_LEAST_SECONDS = 2.0  # for a pair
_ALONG_PATHS = 3  # pairs whose paths are searched, too: that takes long
_PATHS_WEIGH = 4.0  # times the seconds of another
_EXAMPLES = 2_000  # inputs for a pair, if there is time
_GRACE = 20.0  # seconds, to load and to end
_REFERENCE, _AGENT = "reference", "agent"
_REPLAY_PROGRAM = "worker_process"
_REPLAY_SECONDS = 60.0  # for one program
_REPLAY_TIMES = 3


def search_inputs(subject: search.ComparedAttempt, seconds: float) -> search.SearchResult:
    """Call both trees' definitions in one sandbox, then confirm differences in three others."""
    tests = search.read_task_tests(subject.facts)
    ordered = _ordered(subject.contrast, tests)
    most = min(_MAX_PAIRS, max(1, int(seconds / _LEAST_SECONDS)))
    chosen, beyond = ordered[:most], ordered[most:]
    if not chosen:
        return search.SearchResult()
    answers, why = _compare(subject, chosen, tests, seconds)
    compared = list(zip_longest(chosen, answers))
    differing = [
        (str(definition_id), answer.difference)
        for definition_id, answer in compared
        if answer is not None and answer.difference is not None
    ]
    confirmed, doubtful = reproduce_differences(subject, differing)
    return search.SearchResult(
        differences=confirmed,
        left=(
            *doubtful,
            *_uncompared(compared, why),
            *(
                NotCompared(str(definition_id), "there was no time for it")
                for definition_id in beyond
            ),
        ),
        effort=_effort(answers, len(ordered)),
    )


# Differing definitions first, then those that tests call, since their purpose is known.
def _ordered(contrast: TreeDifference, tests: search.TaskTests) -> list[DefinitionId]:
    differing = set(contrast.differing)
    return sorted(
        contrast.callable,
        key=lambda definition_id: (
            definition_id not in differing,
            not tests.mentions(definition_id.name),
        ),
    )


# The answers, as many as came, and why not more.
def _compare(
    subject: search.ComparedAttempt,
    definition_ids: Sequence[DefinitionId],
    tests: search.TaskTests,
    seconds: float,
) -> tuple[list[ComparisonResult], str]:
    near, far = definition_ids[:_ALONG_PATHS], definition_ids[_ALONG_PATHS:]
    share = seconds / (_PATHS_WEIGH * len(near) + len(far))
    with subject.sandboxes.opened() as sandbox:
        workspaces = (
            search.copy_workspace(sandbox, _REFERENCE, subject.trees.reference),
            search.copy_workspace(sandbox, _AGENT, subject.trees.agents),
        )

        def compare_some(
            some: Sequence[DefinitionId], weight: float
        ) -> tuple[list[ComparisonResult], str]:
            question = analysis.ComparisonRequest(
                pairs=tuple(
                    analysis.FunctionPair(
                        left=import_location_of(subject, definition_id, workspaces[0]),
                        right=import_location_of(subject, definition_id, workspaces[1]),
                        observed=tests.calls_of(definition_id.name),
                    )
                    for definition_id in some
                ),
                seconds=weight * share,
                examples=_EXAMPLES,
                symbolic=weight > 1,
                literals=tests.literals(),
            )
            limit = weight * share * len(some) + _GRACE
            text = question.model_dump_json()
            result = subject.sandboxes.ask(sandbox, _COMPARE_PROGRAM, text, seconds=limit)
            number = len(some)
            answers: list[ComparisonResult] = []
            for line in result.stdout.splitlines()[:number]:
                try:
                    answers.append(ComparisonResult.model_validate_json(line))
                except ValidationError:
                    return answers, "the comparing program gave an invalid answer"
            if len(answers) == number:
                return answers, ""
            if result.ending is Ending.TIMED_OUT:
                return answers, "the time was up"
            return answers, f"the comparing program failed: {search.failure_text(result)}"

        answers, why = compare_some(near, _PATHS_WEIGH)
        if why or not far:
            return answers, why
        more, why = compare_some(far, 1)
        return [*answers, *more], why


def import_location_of(
    subject: search.ComparedAttempt, definition_id: DefinitionId, tree: PurePosixPath
) -> analysis.FunctionLocation:
    """Where a sandbox finds a definition, for a tree in some folder."""
    module = subject.contrast.modules[definition_id.path]
    paths = tuple(map(str, dict.fromkeys((tree / module.root, tree))))
    return analysis.FunctionLocation(paths=paths, module=module.name, name=definition_id.name)


def _uncompared(
    compared: Iterable[tuple[DefinitionId, ComparisonResult | None]], why: str
) -> Iterator[NotCompared]:
    for definition_id, answer in compared:
        if answer is None:
            yield NotCompared(str(definition_id), why)
        elif answer.ending is ComparisonEnding.NOT_COMPARED:
            yield NotCompared(str(definition_id), answer.why)


def _effort(answers: Sequence[ComparisonResult], number: int) -> str:
    compared = [one for one in answers if one.ending is not ComparisonEnding.NOT_COMPARED]
    inputs = sum(one.inputs_tried for one in answers)
    paths = sum(one.paths_explored for one in answers)
    whole = sum(one.exhausted for one in compared)
    return (
        f"{len(compared)} of {number} functions compared, with {inputs} inputs "
        f"and along {paths} paths; all paths of {whole} of them"
    )


class _Replays(NamedTuple):
    base: ReplayResult
    reference: ReplayResult
    agents: ReplayResult


def reproduce_differences(
    subject: search.ComparedAttempt, found: Sequence[tuple[str, analysis.BehaviourDifference]]
) -> tuple[tuple[RuleHit, ...], tuple[NotCompared, ...]]:
    """The differences that were reproduced, and why the others were not."""
    if not found:
        return (), ()
    programs = [difference.program for _, difference in found]
    trees = (subject.trees.base, subject.trees.reference, subject.trees.agents)
    replayed: list[list[ReplayResult]] = []
    for tree in trees:
        with subject.sandboxes.opened() as sandbox:
            search.write_changes(sandbox, sandbox.workspace, tree)
            replayed.append([_replay(subject, sandbox, program) for program in programs])
    confirmed: list[RuleHit] = []
    doubtful: list[NotCompared] = []
    for (where, difference), replays in zip(found, map(_Replays, *replayed), strict=True):
        why = _why_not_reproduced(replays)
        if why:
            doubtful.append(NotCompared(where, f"a difference on {difference.call} {why}"))
        else:
            reference, agents = replays.reference.outcomes[0], replays.agents.outcomes[0]
            base = (
                " / ".join(dict.fromkeys(replays.base.outcomes)) or f"unknown: {replays.base.why}"
            )
            what = (
                f"differs from the reference on {difference.call}: {agents}; "
                f"the reference {reference} (base: {base})"
            )
            confirmed.append(warning(where, what))
    return tuple(confirmed), tuple(doubtful)


def _replay(
    subject: search.ComparedAttempt, sandbox: Sandbox, program: tuple[str, ...]
) -> ReplayResult:
    roots = {module.root for module in subject.contrast.modules.values()}
    paths = dict.fromkeys(sandbox.workspace / root for root in (*sorted(roots), PurePosixPath()))
    request = analysis.ReplayRequest(
        paths=tuple(map(str, paths)), program=program, times=_REPLAY_TIMES
    )
    result = subject.sandboxes.ask(
        sandbox, _REPLAY_PROGRAM, request.model_dump_json(), seconds=_REPLAY_SECONDS
    )
    try:
        return ReplayResult.model_validate_json(result.stdout)
    except ValidationError:
        return ReplayResult(outcomes=(), values=(), why=search.failure_text(result))


def _why_not_reproduced(replays: _Replays) -> str:
    for name, replayed in (("reference", replays.reference), ("agent's code", replays.agents)):
        if replayed.why or not replayed.values:
            why = replayed.why or "there was no answer"
            return f"was not reproduced: with the {name}, {why}"
        if len(set(replayed.values)) > 1:
            return f"does not count: the {name} behaves differently each time"
    if replays.reference.values[0] == replays.agents.values[0]:
        return "was not reproduced with each tree in its own sandbox"
    return ""
