"""Judges the noted states of an attempt like a final test, first and last first, then by halves."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath

from agentbench.attempt.agent_work.agent_outcome import judged_change
from agentbench.attempt.context import PreparedContext
from agentbench.attempt.controls.blind_runs import tests_before
from agentbench.attempt.expected_tests import expected_tests
from agentbench.attempt.judge_by_tests import SEED_BITS
from agentbench.attempt.judged_tests import JudgedRuns, judged_evidence
from agentbench.attempt.timeline.document import MAX_BROKEN, JudgedState, Timeline
from agentbench.attempt.timeline.states import NotedStates
from agentbench.core.files import FileContent
from agentbench.errors import AgentbenchError
from agentbench.integrity.extraction import WorkspaceChange
from agentbench.integrity.trees import EntryKind, WorkspaceTree
from agentbench.scoring.evidence import FAILING_OUTCOMES, CaseOutcome, Evidence, StageResult
from agentbench.scoring.verdict import judge
from agentbench.tasks.control_level import ControlLevel
from agentbench.taxonomy import StageName


def judge_states(
    states: Sequence[str],
    judge_one: Callable[[str], JudgedState],
    most: int,
    known: Sequence[JudgedState] = (),
) -> Iterator[list[JudgedState]]:
    """Judge states until each change of their outcome is placed, or as many as allowed.

    Args:
        states: The states in order; equal ones may occur again.
        judge_one: Judges a state.
        most: The most states to judge.
        known: States that are judged already.

    Yields:
        After each judgement, the judged states so far, each once, in order.
    """
    judged = {each.state: each for each in known}

    def so_far() -> list[JudgedState]:
        return [judged[state] for state in dict.fromkeys(states) if state in judged]

    for state in (states[0], states[-1]) if states else ():
        if state not in judged:
            judged[state] = judge_one(state)
            yield so_far()
    while len(judged) < most:
        placed = [number for number, state in enumerate(states) if state in judged]
        gaps = [(one, other) for one, other in pairwise(placed) if other - one > 1]
        # First where the outcome changes; then the largest gap, where work may have been broken
        # and mended again.
        if not gaps:
            break
        changing = [
            (one, other)
            for one, other in gaps
            if judged[states[one]].outcome != judged[states[other]].outcome
        ]
        first, last = max(changing or gaps, key=lambda gap: gap[1] - gap[0])
        middle = states[(first + last) // 2]
        judged[middle] = judge_one(middle)
        yield so_far()


def judge_timeline(
    context: PreparedContext,
    baseline: Evidence,
    earlier: Sequence[StageResult],
    noted: NotedStates,
    *,
    most: int,
    known: Sequence[JudgedState],
) -> Iterator[Timeline]:
    """The timeline of an attempt whose agent has ended.

    Args:
        context: The inputs of the final test.
        baseline: The evidence of the baseline run.
        earlier: The results of the stages before the final test.
        noted: The states.
        most: The most states to judge.
        known: States that are judged already.

    Yields:
        The timeline after each judgement; the last one is complete.
    """
    quiet = replace(
        context,
        sink=lambda _stream, _chunk: None,
        save=lambda _name, _content: None,
        stage=StageName.FINAL_TEST,
    )

    def judge_one(state: str) -> JudgedState:
        try:
            files = noted.files_of(state)
            emptied = emptied_folders(files, quiet.prepared.base)
            change = judged_change(quiet, WorkspaceChange(files=files, emptied=emptied))
            runs = JudgedRuns(context=quiet, baseline=baseline, change=change)
            evidence = _sealed_evidence(runs)
            if evidence is None:
                evidence = judged_evidence(quiet, runs.final(quiet.judging_lock()).tests)
        except AgentbenchError as error:
            return JudgedState(state=state, resolved=False, fault=str(error))
        return _judged(state, quiet, earlier, evidence)

    timeline = Timeline(noted=noted.noted, judged=tuple(known), notes=noted.notes, complete=False)
    states = [each.state for each in noted.noted]
    for judged in judge_states(states, judge_one, most, known):
        timeline = timeline.replace(judged=tuple(judged))
        yield timeline
    if not all_changes_placed(states, timeline.judged):
        between = (
            "some changes lie between states that were not judged, and are placed at the later one"
        )
        timeline = timeline.replace(notes=(*timeline.notes, between))
    yield timeline.replace(complete=True)


def _sealed_evidence(runs: JudgedRuns) -> Evidence | None:
    """The evidence of a sealed run that shows wrong values; None: it showed none, or was not made.

    The states before the last one are untrusted code as well, which no verdict has examined: with
    the hidden tests, code that knows no right values could carry them to the next attempt through
    the page cache (decision 8).
    """
    context = runs.context
    if context.control_level is ControlLevel.OFF or runs.change.is_empty:
        return None
    tests = tests_before(runs)
    if tests is None:
        return None
    # The engine that seals tests takes 0.1 s to import.
    from agentbench.attempt.controls.sealed_runs import sealed_run

    report = sealed_run(runs, tests, secrets.randbits(SEED_BITS)).report
    return None if report is None else judged_evidence(context, report)


def all_changes_placed(states: Sequence[str], judged: Sequence[JudgedState]) -> bool:
    """Whether all neighbours among the judged states that differ are neighbours at all."""
    by_state = {each.state: each.outcome for each in judged}
    known = [(number, by_state[state]) for number, state in enumerate(states) if state in by_state]
    return all(
        one == other or after - before == 1 for (before, one), (after, other) in pairwise(known)
    )


def emptied_folders(
    files: Mapping[PurePosixPath, FileContent | None], base: WorkspaceTree
) -> tuple[PurePosixPath, ...]:
    """The folders of the base that have lost all their files, which a scan does not see itself."""
    left = {path for path, entry in base.items() if entry.kind is not EntryKind.FOLDER}
    left = {path for path in left if files.get(path, path) is not None}
    left |= {path for path, file in files.items() if file is not None}
    filled = {folder for path in left for folder in path.parents}
    removed = {folder for path, file in files.items() if file is None for folder in path.parents}
    return tuple(
        path
        for path, entry in base.items()
        if entry.kind is EntryKind.FOLDER and path in removed and path not in filled
    )


def _judged(
    state: str, context: PreparedContext, earlier: Sequence[StageResult], evidence: Evidence
) -> JudgedState:
    last = earlier[-1]
    final = StageResult(
        stage=StageName.FINAL_TEST,
        evidence=evidence,
        started_at=last.started_at,
        duration=last.duration,
    )
    # How the agent ended is no fact about a state.
    stages = [each for each in earlier if each.stage is not StageName.AGENT_RUN]
    verdict = judge(expected_tests(context.task), [*stages, final])
    return JudgedState(
        state=state,
        resolved=verdict.resolved,
        passed=tuple(
            test.node_id
            for test in verdict.tests
            if test.listed == "fail_to_pass" and test.final is CaseOutcome.PASSED
        ),
        broke=tuple(
            test.node_id
            for test in verdict.tests
            if test.listed != "fail_to_pass"
            and test.baseline is CaseOutcome.PASSED
            and (test.final is None or test.final in FAILING_OUTCOMES)
        )[:MAX_BROKEN],
    )
