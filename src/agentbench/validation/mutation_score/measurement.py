"""Measures the mutation score of a task's tests: prepare the task once, then run its mutants."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event

from agentbench.attempt.context import PreparedContext
from agentbench.attempt.preparation import prepare_task
from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.attempt.resources import RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.core.files import FileContent, owned_folder
from agentbench.errors import AttemptError, InputError, RunCancelled, UnavailableError
from agentbench.integrity.protection import JudgedChange
from agentbench.runs.capacity import fitting_jobs
from agentbench.runs.components import select_sandbox
from agentbench.runs.options import RunOptions
from agentbench.sandbox.interface import SandboxProvider
from agentbench.tasks.task import Task
from agentbench.validation.mutation_score import mutant_runner
from agentbench.validation.mutation_score.mutants import Mutant, Mutants, mutants_of
from agentbench.validation.mutation_score.results import MutantResult, MutationScore

MAX_MUTANTS = 60
"""The default number of mutants per task."""

OnScore = Callable[[Task, MutationScore], None]
"""Is called for each task as soon as its mutants are judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationScoreSettings:
    """How mutation scores are measured."""

    options: RunOptions
    most: int = MAX_MUTANTS
    seed: int = 0
    cancel: Event


def measure(
    tasks: Sequence[Task], settings: MutationScoreSettings, told: OnScore
) -> list[MutationScore]:
    """Measure the mutation scores of some tasks' tests, one task after the other.

    Raises:
        RunCancelled: `settings.cancel` was set.
    """
    provider = select_sandbox(settings.options).provider
    measured = []
    for task in tasks:
        strength = _measure_task(task, settings, provider)
        if settings.cancel.is_set():
            raise RunCancelled  # nothing was running
        told(task, strength)
        measured.append(strength)
    return measured


def _measure_task(
    task: Task, settings: MutationScoreSettings, provider: SandboxProvider
) -> MutationScore:
    why_not = mutant_runner.why_no_mutants(task)
    if not why_not:
        try:
            with _prepared_context(task, settings, provider) as context:
                return _score(context, settings)
        except (AttemptError, InputError, UnavailableError) as error:
            why_not = str(error)
    return MutationScore(why_not=why_not, sandbox=provider.name)


def _score(context: PreparedContext, settings: MutationScoreSettings) -> MutationScore:
    reference = mutant_runner.reference_change(context)
    mutants = mutants_of(mutant_runner.fixed_files(reference, context.prepared))
    judge = (
        mutant_runner.mutant_runner_for(context, reference) if mutants.found else _why_none(mutants)
    )
    if isinstance(judge, str):
        return MutationScore(why_not=judge, sandbox=context.provider.name)
    drawn = mutants.drawn(settings.most, seed=settings.seed)
    jobs = settings.options.jobs or fitting_jobs([context.task])
    return MutationScore(
        scope=mutants.scope,
        made=len(mutants.found),
        equivalent=mutants.equivalent,
        seed=settings.seed,
        sandbox=context.provider.name,
        mutants=tuple(_run_mutants(drawn, reference, judge, jobs=jobs, cancel=settings.cancel)),
    )


def _why_none(mutants: Mutants) -> str:
    unread = f": {'; '.join(mutants.unread)}" if mutants.unread else ""
    return f"the reference solution has nothing to change in Python{unread}"


def _run_mutants(
    mutants: Sequence[Mutant],
    reference: JudgedChange,
    judge: mutant_runner.MutantRunner,
    *,
    jobs: int,
    cancel: Event,
) -> list[MutantResult]:
    def judged(mutant: Mutant) -> MutantResult:
        came = judge.run(_with_mutant(reference, mutant))
        return MutantResult(change=mutant.change, outcome=came.outcome, detail=came.detail)

    with ThreadPoolExecutor(jobs, thread_name_prefix="mutant") as pool:
        try:
            return list(pool.map(judged, mutants))
        except BaseException:
            cancel.set()  # running ones end at once
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _with_mutant(reference: JudgedChange, mutant: Mutant) -> JudgedChange:
    """The reference solution's change, with one file replaced by a mutant's."""
    own = reference.files[mutant.path]
    executable = own is not None and own.executable
    changed = FileContent(content=mutant.content, executable=executable)
    return replace(reference, files={**reference.files, mutant.path: changed})


@contextmanager
def _prepared_context(
    task: Task, settings: MutationScoreSettings, provider: SandboxProvider
) -> Iterator[PreparedContext]:
    """A prepared task; without the cache, the preparation is removed after the block."""
    options = settings.options
    with owned_folder("agentbench-strength-") as scratch:
        cache = PreparationCache(
            (options.cache_dir if options.use_cache else scratch) / "prepared", provider
        )
        resources = replace(
            RunResources.of(
                provider,
                RunSettings(timeout_scale=options.timeout_scale),
                cache_dir=options.cache_dir,
                cancel=settings.cancel,
            ),
            cache=cache,
        )
        context = prepare_task(task, resources)
        try:
            yield context
        finally:
            resources.background.finish()
            if not options.use_cache:
                provider.discard(context.prepared.snapshot)
