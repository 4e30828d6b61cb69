"""Measuring the strength of a task's tests: prepare it once, then judge its mutants."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from agentbench.agents.noop import NoopAgent
from agentbench.aside import Aside
from agentbench.curation.strength.judging import Judge, judge_of
from agentbench.curation.strength.mutants import Mutant, Mutants, mutants_of
from agentbench.curation.strength.reference import (
    fixed_files,
    reference_change,
    why_unchangeable,
)
from agentbench.curation.strength.results import JudgedMutant, Strength
from agentbench.errors import AttemptError, InputError, UnavailableError
from agentbench.owned_folder import owned_folder
from agentbench.runs.attempt import prepare, resolve_image
from agentbench.runs.capacity import fitting_jobs
from agentbench.runs.options import RunOptions
from agentbench.runs.parts import chosen_sandbox
from agentbench.runs.workshop import Workshop
from agentbench.sandbox.interface import SandboxProvider, Stream
from agentbench.stages.interface import StageContext
from agentbench.stages.preparation import PreparationCache, Prepared
from agentbench.stages.verification.protection import JudgedChange
from agentbench.tasks.mirror import CLONE_TIMEOUT, Mirrors
from agentbench.tasks.patched_file import PatchedFile
from agentbench.tasks.task import Task

MOST = 60
"""Mutants of one task, unless told otherwise."""

Told = Callable[[Task, Strength], None]
"""Is told of each task as soon as its mutants are judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthSettings:
    """How strength is measured."""

    options: RunOptions
    most: int = MOST
    seed: int = 0
    cancel: Event


def measure(tasks: Sequence[Task], settings: StrengthSettings, told: Told) -> list[Strength]:
    """Measure the strength of some tasks' tests, one task after the other.

    Raises:
        KeyboardInterrupt: `settings.cancel` was set.
        UnavailableError: there is no sandbox.
        UsageError: an option is wrong.
    """
    provider = chosen_sandbox(settings.options).provider
    measured = []
    for task in tasks:
        strength = _measured(task, settings, provider)
        if settings.cancel.is_set():
            raise KeyboardInterrupt  # where nothing ran that could have been cut off
        told(task, strength)
        measured.append(strength)
    return measured


def _measured(task: Task, settings: StrengthSettings, provider: SandboxProvider) -> Strength:
    why_not = why_unchangeable(task)
    if not why_not:
        try:
            with _prepared(task, settings, provider) as context:
                return _strength(context, settings)
        except (AttemptError, InputError, UnavailableError) as error:
            why_not = str(error)
    return Strength(why_not=why_not, sandbox=provider.name)


def _strength(context: StageContext, settings: StrengthSettings) -> Strength:
    assert context.prepared is not None
    reference = reference_change(context)
    mutants = mutants_of(fixed_files(reference, context.prepared))
    judge = judge_of(context, reference) if mutants.found else _why_none(mutants)
    if isinstance(judge, str):
        return Strength(why_not=judge, sandbox=context.provider.name)
    drawn = mutants.drawn(settings.most, seed=settings.seed)
    jobs = settings.options.jobs or fitting_jobs([context.task])
    return Strength(
        scope=mutants.scope,
        made=len(mutants.found),
        equivalent=mutants.equivalent,
        seed=settings.seed,
        sandbox=context.provider.name,
        mutants=tuple(_judged(drawn, reference, judge, jobs=jobs, cancel=settings.cancel)),
    )


def _why_none(mutants: Mutants) -> str:
    unread = f": {'; '.join(mutants.unread)}" if mutants.unread else ""
    return f"the reference solution has nothing to change in Python{unread}"


def _judged(
    mutants: Sequence[Mutant],
    reference: JudgedChange,
    judge: Judge,
    *,
    jobs: int,
    cancel: Event,
) -> list[JudgedMutant]:
    def judged(mutant: Mutant) -> JudgedMutant:
        came = judge.judge(_with(reference, mutant))
        return JudgedMutant(change=mutant.change, outcome=came.outcome, detail=came.detail)

    with ThreadPoolExecutor(jobs, thread_name_prefix="mutant") as pool:
        try:
            return list(pool.map(judged, mutants))
        except BaseException:
            cancel.set()  # those that run end at once
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _with(reference: JudgedChange, mutant: Mutant) -> JudgedChange:
    """The reference solution's change, with one file of it as a mutant has it."""
    own = reference.files[mutant.path]
    executable = own is not None and own.executable
    changed = PatchedFile(content=mutant.content, executable=executable)
    return replace(reference, files={**reference.files, mutant.path: changed})


@contextmanager
def _prepared(
    task: Task, settings: StrengthSettings, provider: SandboxProvider
) -> Iterator[StageContext]:
    """A task, prepared; where no cache is to be used, in one that is gone afterwards.

    Raises:
        UnavailableError: a stage before the agent failed.
    """
    options = settings.options
    with owned_folder("agentbench-strength-") as scratch:
        kept = options.cache_dir if options.use_cache else scratch
        workshop = _workshop(settings, provider, kept)
        prepared = prepare(task, NoopAgent(), workshop, scratch)
        try:
            yield _context(task, workshop, prepared)
        finally:
            workshop.aside.finish()
            if not options.use_cache:
                provider.discard(prepared.snapshot)


def _workshop(settings: StrengthSettings, provider: SandboxProvider, kept: Path) -> Workshop:
    options, cancel = settings.options, settings.cancel
    timeout = CLONE_TIMEOUT * options.timeout_scale
    return Workshop(
        provider=provider,
        mirrors=Mirrors(options.cache_dir / "mirrors", timeout=timeout, cancel=cancel),
        cache=PreparationCache(kept / "prepared", provider),
        cancel=cancel,
        timeout_scale=options.timeout_scale,
        aside=Aside(),
    )


def _context(task: Task, workshop: Workshop, prepared: Prepared) -> StageContext:
    return StageContext(
        task=task,
        agent=NoopAgent(),
        provider=workshop.provider,
        mirrors=workshop.mirrors,
        cancel=workshop.cancel,
        timeout_scale=workshop.timeout_scale,
        sink=_nowhere,
        save=_nothing,
        keep_snapshot=lambda _context: prepared,
        aside=workshop.aside,
        image=resolve_image(task, workshop.provider),
        prepared=prepared,
    )


def _nowhere(stream: Stream, chunk: bytes) -> None:
    del stream, chunk


def _nothing(name: str, content: bytes) -> None:
    del name, content
