"""Judging a changed reference solution as any attempt's change is: hidden tests, fresh sandbox."""

from dataclasses import dataclass, replace
from datetime import timedelta

from agentbench.curation.strength.results import Outcome
from agentbench.errors import AttemptError, UnavailableError
from agentbench.pytest_results.tools import execute_tests
from agentbench.scoring.evidence import Ending, Evidence, NodeId, ReportFacts
from agentbench.scoring.expectation import resolve_expectation, shortfall_of
from agentbench.stages.baseline_run import baseline_run
from agentbench.stages.expected_tests import expected_tests
from agentbench.stages.fresh import fresh_sandbox
from agentbench.stages.hidden_tests import hidden_files
from agentbench.stages.interface import StageContext
from agentbench.stages.selection import judged_evidence, judged_request, judged_timeout
from agentbench.stages.verification.protection import JudgedChange
from agentbench.stages.verifier_run import verified
from agentbench.stages.workspace import write_files

_TRIES = 3  # at a mutant at which the infrastructure fails
_TIMES = 10  # what the reference solution takes, before a mutant is said not to end
_SLACK = timedelta(seconds=10)  # beside that: an interpreter may take long to start
_TOO_MUCH = frozenset({Ending.OUT_OF_MEMORY, Ending.OUT_OF_DISK})  # which the reference kept to


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the hidden tests made of one change."""

    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run of what judges, and all the tests of it: the evidence has those alone that decide."""

    evidence: Evidence
    tests: ReportFacts | None = None  # None: a script judges
    took: timedelta


class Judge:
    """Judges changes to one task, after the reference solution itself."""

    def __init__(self, context: StageContext, baseline: Evidence, reference: Ran) -> None:
        """Take over what was measured; see `judge_of`."""
        self._context = context
        self._baseline = baseline
        self._expected = expected_tests(context.task)
        self._expectation = resolve_expectation(self._expected, baseline)
        taken = reference.took * _TIMES + _SLACK * context.timeout_scale
        self._limit = min(taken, judged_timeout(context))
        deciding = {*self._expectation.fail_to_pass, *self._expectation.pass_to_pass}
        self._stops_early = _names(reference.tests) <= deciding

    def judge(self, change: JudgedChange) -> Judged:
        """Judge a change; again where the infrastructure failed.

        Raises:
            KeyboardInterrupt: it was cancelled.
        """
        judged = self._judged(change)
        for _ in range(_TRIES - 1):
            if judged.outcome is not Outcome.NOT_JUDGED:
                break
            judged = self._judged(change)
        return judged

    def _judged(self, change: JudgedChange) -> Judged:
        try:
            ran = run_change(self._context, change, limit=self._limit, stop=self._stops_early)
        except (AttemptError, UnavailableError) as error:
            return Judged(outcome=Outcome.NOT_JUDGED, detail=str(error))
        return self._of(ran)

    def _of(self, ran: Ran) -> Judged:
        """What a run says of the change."""
        lack = shortfall_of(self._expected, self._expectation, self._baseline, ran.evidence)
        ending = ran.evidence.command.ending if ran.evidence.command else Ending.LOST
        if ending is Ending.LOST:
            return Judged(outcome=Outcome.NOT_JUDGED, detail="the sandbox or its engine went away")
        if lack is None:
            return Judged(outcome=Outcome.SURVIVED)
        if ending is Ending.TIMED_OUT:
            seconds = self._limit.total_seconds()
            return Judged(outcome=Outcome.TIMED_OUT, detail=f"still running after {seconds:.0f} s")
        seen = ending in _TOO_MUCH or _could_run(ran)
        outcome = Outcome.KILLED if seen else Outcome.BROKEN
        return Judged(outcome=outcome, detail=lack)


def judge_of(context: StageContext, reference: JudgedChange) -> Judge | str:
    """A judge of changes to a task; or why there is none: the reference solution does not pass.

    Raises:
        AttemptError: the sandbox could not be made or is lost.
        UnavailableError: the judge's own image cannot be had.
    """
    baseline = baseline_run(context)
    ran = run_change(context, reference, limit=judged_timeout(context), stop=False)
    expected = expected_tests(context.task)
    lack = shortfall_of(expected, resolve_expectation(expected, baseline), baseline, ran.evidence)
    if lack is not None:
        return f"the reference solution does not pass: {lack}"
    return Judge(context, baseline, ran)


def run_change(context: StageContext, change: JudgedChange, *, limit: timedelta, stop: bool) -> Ran:
    """Run what judges a task on a change, in a fresh sandbox.

    Args:
        context: The task, prepared.
        change: To its base.
        limit: The time that it is given.
        stop: At the first test that fails.

    Raises:
        SandboxError: the sandbox could not be made or is lost.
    """
    if context.task.answer_key.verifier is not None:
        scale = limit.total_seconds() / context.task.problem.test_timeout_s
        evidence = verified(replace(context, timeout_scale=scale), change, name="final")
        return Ran(evidence=evidence, took=timedelta(seconds=evidence.own_seconds))
    request = replace(judged_request(context), timeout=limit, max_failures=1 if stop else None)
    with fresh_sandbox(context) as sandbox:
        files = {**change.files, **hidden_files(context)}
        write_files(sandbox, files, emptied=change.emptied)
        run = execute_tests(sandbox, request, end_sandbox=True, sink=context.sink)
    tests = run.facts
    return Ran(
        evidence=judged_evidence(context, Evidence(command=run.command, report=tests)),
        tests=tests,
        took=run.command.duration,
    )


def _names(report: ReportFacts | None) -> frozenset[NodeId]:
    return frozenset(case.node_id for case in report.cases) if report else frozenset()


def _could_run(ran: Ran) -> bool:
    """Whether tests ran, so that it was they who noticed something."""
    if ran.evidence.rewards is not None:
        return True
    return ran.tests is not None and bool(ran.tests.cases) and not ran.tests.collection_errors
