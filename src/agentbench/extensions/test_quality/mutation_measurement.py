"""Measures the mutation score of a task's tests: prepare the task once, then run its mutants."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from threading import Event

from agentbench.attempt import judged_tests
from agentbench.attempt.agent_work.agent_outcome import judged_change
from agentbench.attempt.context import PreparedContext
from agentbench.attempt.expected_tests import expected_tests
from agentbench.attempt.preparation_cache import PreparationCache, PreparedTask
from agentbench.attempt.preparing import prepare_task
from agentbench.attempt.resources import RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.attempt.stages.baseline_run import baseline_run
from agentbench.attempt.verifier import run_verifier
from agentbench.core.files import FileContent, owned_folder
from agentbench.errors import AttemptError, InputError, RunCancelled, UnavailableError
from agentbench.extensions.test_quality.input_search import search_evidence
from agentbench.extensions.test_quality.mutants import FixedFile, Mutant, mutants_of
from agentbench.extensions.test_quality.stronger_tests import (
    EvidenceBySurvivor,
    StrongerPatches,
    stronger_evidence,
    time_limit,
)
from agentbench.integrity.extraction import WorkspaceChange
from agentbench.integrity.protection import JudgedChange
from agentbench.runs.options import RunOptions
from agentbench.runs.scheduler import fitting_jobs
from agentbench.sandbox.interface import SandboxProvider
from agentbench.sandbox.registry import select_back_end
from agentbench.scoring.evidence import Ending, Evidence, NodeId, ReportFacts
from agentbench.scoring.expectation import resolve_expectation, shortfall_of, with_node_ids
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.task import Task
from agentbench.test_runs.model import CaseResult
from agentbench.validation.mutation_results import MutantOutcome, MutantResult, MutationScore

MAX_MUTANTS = 60
"""The default number of mutants per task."""

OnScore = Callable[[Task, MutationScore], None]
"""Is called for each task as soon as its mutants are judged."""
_MAX_RUNS = 3  # of one mutant, if the infrastructure fails
# The reference solution met these limits.
_LIMIT_ENDINGS = frozenset({Ending.OUT_OF_MEMORY, Ending.OUT_OF_DISK})


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationScoreSettings:
    """The settings for measuring mutation scores."""

    options: RunOptions
    most: int = MAX_MUTANTS
    seed: int = 0
    cancel: Event
    stronger: StrongerPatches | None = None  # None: there are no stronger tests
    search_seconds: float = 0  # for comparing a survivor with the reference; 0: none is compared


def measure(
    tasks: Sequence[Task], settings: MutationScoreSettings, on_score: OnScore
) -> list[MutationScore]:
    """Measure the mutation scores of some tasks' tests, one task after the other.

    Raises:
        RunCancelled: `settings.cancel` was set.
        UnavailableError: there is no sandbox.
        UsageError: an option is wrong.
    """
    options = settings.options
    provider = select_back_end(options.sandbox, cache_dir=options.cache_dir).provider
    measured = []
    for task in tasks:
        strength = _measure_task(task, settings, provider)
        if settings.cancel.is_set():
            raise RunCancelled  # nothing was running
        on_score(task, strength)
        measured.append(strength)
    return measured


def _measure_task(
    task: Task, settings: MutationScoreSettings, provider: SandboxProvider
) -> MutationScore:
    why_not = why_no_mutants(task)
    if not why_not:
        try:
            prepared = prepared_context(task, settings.options, provider, settings.cancel)
            with prepared as (context, resources):
                return _score(context, settings, resources)
        except (AttemptError, InputError, UnavailableError) as error:
            why_not = str(error)
    return MutationScore(why_not=why_not, sandbox=provider.name)


def _score(
    context: PreparedContext, settings: MutationScoreSettings, resources: RunResources
) -> MutationScore:
    reference = reference_change(context)
    mutants = mutants_of(
        fixed_files(reference, context.prepared), other_files(reference, context.prepared)
    )
    if mutants.found:
        judge = mutant_runner_for(context, reference)
    else:
        unread = f": {'; '.join(mutants.unread)}" if mutants.unread else ""
        judge = f"the reference solution has nothing to change in Python{unread}"
    if isinstance(judge, str):
        return MutationScore(why_not=judge, sandbox=context.provider.name)
    drawn = mutants.drawn(settings.most, seed=settings.seed)
    # Mutants are judged like attempts, each in a fresh sandbox with the task's memory.
    jobs = settings.options.jobs or fitting_jobs([context.task])
    results = _run_mutants(drawn, reference, judge, jobs=jobs, cancel=settings.cancel)
    score = MutationScore(
        scope=mutants.scope,
        made=len(mutants.found),
        equivalent=mutants.equivalent,
        seed=settings.seed,
        sandbox=context.provider.name,
        mutants=tuple(results),
    )
    survivors = {
        at: mutated(reference, drawn[at])
        for at, one in enumerate(results)
        if one.outcome is MutantOutcome.SURVIVED
    }
    if settings.stronger is not None:
        stronger, found = stronger_evidence(context, reference, survivors, settings.stronger)
        score = _with_evidence(score.replace(stronger=stronger), found)
    if settings.search_seconds:
        search, found = search_evidence(
            context,
            resources,
            settings.options.cache_dir,
            reference=reference,
            survivors=survivors,
            seconds=settings.search_seconds,
        )
        score = _with_evidence(score.replace(search=search), found)
    return score


def _with_evidence(score: MutationScore, found: EvidenceBySurvivor) -> MutationScore:
    mutants = list(score.mutants)
    for at, evidence in found.items():
        mutants[at] = mutants[at].replace(evidence=(*mutants[at].evidence, *evidence))
    return score.replace(mutants=tuple(mutants))


def _run_mutants(
    mutants: Sequence[Mutant],
    reference: JudgedChange,
    judge: "MutantRunner",
    *,
    jobs: int,
    cancel: Event,
) -> list[MutantResult]:
    def judged(mutant: Mutant) -> MutantResult:
        came = judge.run(mutated(reference, mutant))
        return MutantResult(
            change=mutant.change,
            outcome=came.outcome,
            detail=came.detail,
            is_partial=mutant.is_partial,
        )

    with ThreadPoolExecutor(jobs, thread_name_prefix="mutant") as pool:
        try:
            return list(pool.map(judged, mutants))
        except BaseException:
            cancel.set()  # running ones end at once
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def mutated(reference: JudgedChange, mutant: Mutant) -> JudgedChange:
    """The reference solution with one file of a mutant."""
    files = {path: file for path, file in reference.files.items() if path != mutant.path}
    if mutant.content is not None:
        own = reference.files[mutant.path]
        executable = own is not None and own.executable
        files[mutant.path] = FileContent(content=mutant.content, executable=executable)
    return replace(reference, files=files)


@contextmanager
def prepared_context(
    task: Task, options: RunOptions, provider: SandboxProvider, cancel: Event
) -> Iterator[tuple[PreparedContext, RunResources]]:
    """A prepared task; without the cache, the preparation is removed after the block."""
    with owned_folder("agentbench-strength-") as scratch:
        cache = PreparationCache(
            (options.cache_dir if options.use_cache else scratch) / "prepared", provider
        )
        resources = replace(
            RunResources.of(
                provider,
                RunSettings(timeout_scale=options.timeout_scale),
                cache_dir=options.cache_dir,
                cancel=cancel,
            ),
            cache=cache,
        )
        context = prepare_task(task, resources)
        try:
            yield context, resources
        finally:
            resources.background.finish()
            if not options.use_cache:
                provider.discard(context.prepared.snapshot)


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantRunResult:
    """The result of the hidden tests for one change."""

    outcome: MutantOutcome
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenTestRun:
    """A run of the hidden tests, with all of its tests, not only the deciding ones."""

    evidence: Evidence
    tests: ReportFacts | None = None  # None: a verifier script judges
    cases: tuple[CaseResult, ...] = ()
    took: timedelta

    def message_of(self, node_id: NodeId) -> str:
        """What a test that failed says; empty: nothing."""
        messages = (case.message for case in self.cases if case.node_id == node_id)
        return next(filter(None, messages), "")


class MutantRunner:
    """Judges changes to one task, by the measured run of its reference solution."""

    def __init__(
        self, context: PreparedContext, baseline: Evidence, reference: HiddenTestRun
    ) -> None:
        self._context = context
        self._baseline = baseline
        expected = expected_tests(context.task)
        self._expected = with_node_ids(expected, baseline, reference.evidence)
        self._expectation = resolve_expectation(self._expected, baseline)
        self._limit = time_limit(context, reference.took)
        cases = reference.tests.cases if reference.tests else ()
        deciding = {*self._expectation.fail_to_pass, *self._expectation.pass_to_pass}
        self._stops_early = {case.node_id for case in cases} <= deciding

    def run(self, change: JudgedChange) -> MutantRunResult:
        """Judge a change; a run in which the infrastructure fails is repeated.

        Raises:
            RunCancelled: it was cancelled.
        """
        judged = self._judged(change)
        for _ in range(_MAX_RUNS - 1):
            if judged.outcome is not MutantOutcome.NOT_JUDGED:
                break
            judged = self._judged(change)
        return judged

    def _judged(self, change: JudgedChange) -> MutantRunResult:
        try:
            ran = run_change(self._context, change, limit=self._limit, stop=self._stops_early)
        except (AttemptError, UnavailableError) as error:
            return MutantRunResult(outcome=MutantOutcome.NOT_JUDGED, detail=str(error))
        lack = shortfall_of(self._expected, self._expectation, self._baseline, ran.evidence)
        ending = ran.evidence.command.ending if ran.evidence.command else Ending.LOST
        outcome, detail = MutantOutcome.BROKEN, lack or ""
        if ending is Ending.LOST:
            outcome, detail = MutantOutcome.NOT_JUDGED, "the sandbox or its engine went away"
        elif lack is None:
            outcome = MutantOutcome.SURVIVED
        elif ending is Ending.TIMED_OUT:
            seconds = self._limit.total_seconds()
            outcome, detail = MutantOutcome.TIMED_OUT, f"still running after {seconds:.0f} s"
        elif ending in _LIMIT_ENDINGS or _could_run(ran):
            outcome = MutantOutcome.KILLED
        return MutantRunResult(outcome=outcome, detail=detail)


def mutant_runner_for(context: PreparedContext, reference: JudgedChange) -> MutantRunner | str:
    """A runner for changes to a task, or why there is none, if its reference solution fails."""
    baseline = baseline_run(context).evidence
    ran = run_change(context, reference, limit=judged_tests.judged_timeout(context), stop=False)
    expected = with_node_ids(expected_tests(context.task), baseline, ran.evidence)
    lack = shortfall_of(expected, resolve_expectation(expected, baseline), baseline, ran.evidence)
    if lack is not None:
        return f"the reference solution does not pass: {lack}"
    return MutantRunner(context, baseline, ran)


def run_change(
    context: PreparedContext, change: JudgedChange, *, limit: timedelta, stop: bool
) -> HiddenTestRun:
    """Run a task's hidden tests, or its verifier, on a change in a fresh sandbox.

    Args:
        context: The prepared task.
        change: The change to its base.
        limit: The time limit.
        stop: Whether to stop at the first failing test.
    """
    if context.task.answer_key.verifier is not None:
        scale = limit.total_seconds() / context.task.problem.test_timeout_s
        scaled = replace(context, settings=context.settings.replace(timeout_scale=scale))
        evidence = run_verifier(scaled, change, name="final")
        return HiddenTestRun(evidence=evidence, took=timedelta(seconds=evidence.own_seconds))
    request = replace(
        judged_tests.judged_request(context), timeout=limit, max_failures=1 if stop else None
    )
    run = judged_tests.run_judged_tests(
        context,
        {**change.files, **context.hidden_tests.files},
        emptied=change.emptied,
        request=request,
        sink=context.sink,
    ).tests
    evidence = judged_tests.judged_evidence(context, run)
    return HiddenTestRun(
        evidence=evidence, tests=run.facts, cases=run.result.tests, took=run.command.duration
    )


# Whether tests ran, so that a failure is theirs.
def _could_run(ran: HiddenTestRun) -> bool:
    if ran.evidence.rewards is not None:
        return True
    return ran.tests is not None and bool(ran.tests.cases) and not ran.tests.collection_errors


def why_no_mutants(task: Task) -> str:
    """Why no file of a reference solution can be changed; empty: one can."""
    if task.scripted_solution is not None:
        return "the reference solution is a script, not a patch"
    if not task.answer_key.solution_patch.strip():
        return "there is no reference solution"
    if task.source.workdir is not None:
        return "the work is in the image, so there is no repository for a patch"
    return ""


def reference_change(context: PreparedContext) -> JudgedChange:
    """The reference solution's change, without the paths that are never judged."""
    task = context.task
    try:
        mirror = context.mirrors.of(task.source)
        files = apply_patch_to_commit(task.answer_key.solution_patch, mirror)
    except PatchDoesNotApplyError as error:
        raise InputError(f"{task.folder / 'solution.patch'}: {error}") from None
    return judged_change(context, WorkspaceChange(files=dict(files)))


def fixed_files(change: JudgedChange, prepared: PreparedTask) -> tuple[FixedFile, ...]:
    """The Python files in a change."""
    return tuple(one for one in _written(change, prepared) if one.path.suffix == ".py")


def other_files(change: JudgedChange, prepared: PreparedTask) -> tuple[FixedFile, ...]:
    """The other files in a change, without removed ones."""
    return tuple(one for one in _written(change, prepared) if one.path.suffix != ".py")


def _written(change: JudgedChange, prepared: PreparedTask) -> Iterator[FixedFile]:
    for path, file in change.files.items():
        if file is not None:
            yield FixedFile(path=path, before=prepared.content(path) or b"", after=file.content)
