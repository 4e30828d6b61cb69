"""Stronger tests of a task: which of the fixes that its deciding tests accept they reject."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path, PurePosixPath

from agentbench.attempt import judged_tests
from agentbench.attempt.context import PreparedContext
from agentbench.core.files import FileContent
from agentbench.errors import AttemptError, InputError, UnavailableError, UsageError
from agentbench.integrity.protection import JudgedChange
from agentbench.scoring.evidence import FAILING_OUTCOMES, CaseOutcome, Ending, NodeId
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.problem import TaskId
from agentbench.test_runs.runner import TestRun
from agentbench.validation.mutation_results import (
    EvidenceKind,
    StrongerTestsResult,
    WrongFixEvidence,
)

_TIMEOUT_FACTOR = 10  # times the reference solution's time: then a change counts as endless
_TIMEOUT_SLACK = timedelta(seconds=10)  # in addition, since an interpreter may start slowly
_MAX_ASSERTION_CHARACTERS = 300

Survivors = Mapping[int, JudgedChange]
"""The changes that the deciding tests accept, by their positions among the mutants."""
EvidenceBySurvivor = Mapping[int, tuple[WrongFixEvidence, ...]]


def time_limit(context: PreparedContext, took: timedelta) -> timedelta:
    """The time limit of a changed solution, from the time that the reference solution took."""
    limit = took * _TIMEOUT_FACTOR + _TIMEOUT_SLACK * context.settings.timeout_scale
    return min(limit, judged_tests.judged_timeout(context))


@dataclass(frozen=True, slots=True, kw_only=True)
class StrongerPatches:
    """The patches of stronger tests: one for each task."""

    path: Path
    by_task: Mapping[TaskId, bytes]

    @classmethod
    def read(cls, path: Path, task_ids: Collection[TaskId]) -> "StrongerPatches":
        """Read a patch for the only task, or the files TASK_ID.patch of a folder.

        Raises:
            InputError: a file cannot be read.
            UsageError: one file is given for several tasks, or no file of the folder fits a task.
        """
        files = {one: path / f"{one}.patch" for one in task_ids}
        if not path.is_dir():
            if len(task_ids) != 1:
                raise UsageError(
                    f"--stronger-tests {path}: expected a folder of TASK_ID.patch files for "
                    f"{len(task_ids)} tasks, found a file"
                )
            files = dict.fromkeys(task_ids, path)
        try:
            found = {
                one: file.read_bytes()
                for one, file in files.items()
                if file == path or file.exists()
            }
        except OSError as error:
            raise InputError(f"--stronger-tests {path}: {error.strerror}") from None
        if not found:
            raise UsageError(f"--stronger-tests {path}: expected TASK_ID.patch files, found none")
        return cls(path=path, by_task=found)


def stronger_evidence(
    context: PreparedContext,
    reference: JudgedChange,
    survivors: Survivors,
    patches: StrongerPatches,
) -> tuple[StrongerTestsResult, EvidenceBySurvivor]:
    """Run the stronger tests on the reference solution and on each survivor.

    A test counts if the reference solution passes it. A survivor is wrong if it fails such a test
    twice, so that a flaky test shows nothing.

    Raises:
        RunCancelled: it was cancelled.
    """
    patch = patches.by_task.get(context.task.id)
    if patch is None:
        why = f"there is no {patches.path / f'{context.task.id}.patch'}"
        return StrongerTestsResult(why_not=why), {}
    try:
        tests = _StrongerTests.of(context, reference, patch)
    except (AttemptError, InputError, UnavailableError) as error:
        return StrongerTestsResult(why_not=f"{patches.path}: {error}"), {}
    found: dict[int, tuple[WrongFixEvidence, ...]] = {}
    not_judged = 0
    for at, change in survivors.items() if tests.counted else ():
        try:
            evidence = tests.failure_of(change)
        except (AttemptError, UnavailableError):
            not_judged += 1
            continue
        if evidence is not None:
            found[at] = (evidence,)
    result = StrongerTestsResult(
        counted=len(tests.counted), not_counted=tests.not_counted, not_judged=not_judged
    )
    return result, found


@dataclass(frozen=True, slots=True, kw_only=True)
class _StrongerTests:
    context: PreparedContext
    files: Mapping[PurePosixPath, FileContent | None]
    targets: tuple[str, ...]
    limit: timedelta
    counted: frozenset[NodeId] = frozenset()
    not_counted: int = 0

    @classmethod
    def of(
        cls, context: PreparedContext, reference: JudgedChange, patch: bytes
    ) -> "_StrongerTests":
        if context.task.answer_key.verifier is not None:
            raise InputError("a script judges the task, not tests")
        files = _stronger_files(context, patch)
        for path in files.keys() & reference.files.keys():
            raise InputError(f"expected only tests, found {path}, which the solution changes")
        is_test_file = context.runner.is_test_file
        own = (path for path, file in files.items() if file is not None and is_test_file(path))
        tests = cls(
            context=context,
            files={**context.hidden_tests.files, **files},
            # A patch may change nothing but what tests read.
            targets=tuple(map(str, own)) or judged_tests.judged_request(context).targets,
            limit=judged_tests.judged_timeout(context),
        )
        run = tests.run(reference)
        if run.command.ending is Ending.LOST:
            raise UnavailableError("the sandbox or its engine went away")
        cases = run.facts.cases
        failed = {case.node_id for case in cases if case.outcome in FAILING_OUTCOMES}
        passed = {case.node_id for case in cases if case.outcome is CaseOutcome.PASSED}
        return replace(
            tests,
            limit=time_limit(context, run.command.duration),
            counted=frozenset(passed - failed),
            not_counted=len(failed) + len(run.facts.collection_errors),
        )

    def run(self, change: JudgedChange) -> TestRun:
        request = judged_tests.judged_request(self.context)
        return judged_tests.run_judged_tests(
            self.context,
            {**change.files, **self.files},
            emptied=change.emptied,
            request=replace(request, targets=self.targets, timeout=self.limit),
            sink=self.context.sink,
        ).tests

    def failure_of(self, change: JudgedChange) -> WrongFixEvidence | None:
        first = self._failures(self.run(change))
        again = self._failures(self.run(change)) if first else {}
        found = [(test, why) for test, why in first.items() if test in again]
        if not found:
            return None
        test, why = found[0]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return WrongFixEvidence(kind=EvidenceKind.STRONGER_TEST, where=test, what=f"{why}{more}")

    def _failures(self, run: TestRun) -> dict[str, str]:
        if run.command.ending is Ending.TIMED_OUT:
            return {"the stronger tests": f"still running after {self.limit.total_seconds():.0f} s"}
        return {
            case.node_id: (case.message or case.outcome.value)[:_MAX_ASSERTION_CHARACTERS]
            for case in run.result.tests
            if case.node_id in self.counted and case.outcome in FAILING_OUTCOMES
        }


# A stronger set may be a patch of the hidden tests, or of the base as the hidden tests are.
def _stronger_files(
    context: PreparedContext, patch: bytes
) -> Mapping[PurePosixPath, FileContent | None]:
    mirror = context.mirrors.of(context.task.source)
    hidden = context.task.answer_key.tests_patch
    try:
        return apply_patch_to_commit(hidden + patch, mirror) if hidden else {}
    except PatchDoesNotApplyError:
        pass
    try:
        return apply_patch_to_commit(patch, mirror)
    except PatchDoesNotApplyError as error:
        raise InputError(str(error)) from None
