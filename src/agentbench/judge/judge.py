"""The judge: gives each submitted change its verdict, at any time and from any thread or loop.

>>> async with Judge(sandbox="docker", jobs=16) as judge:  # doctest: +SKIP
...     verdict = await judge.score("tasks/lru-expiry", patch=patch)
>>> verdict.reward  # doctest: +SKIP
1.0
"""

import asyncio
import time
from collections.abc import AsyncIterable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from threading import Event, Lock
from typing import Self

from agentbench.agents.interface import Agent
from agentbench.attempt.outages import CircuitBreaker, requirements_of
from agentbench.attempt.record import AttemptRecord, RunId
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.core.host import available_cpus
from agentbench.errors import UsageError
from agentbench.judge.job_runner import JobRunner, Waiter
from agentbench.judge.judge_session import InThread, Session, SessionContext, SessionPlan
from agentbench.judge.judge_verdict import JudgeVerdict
from agentbench.judge.reward_kind import RewardKind
from agentbench.judge.scoring import ScoreStream, Scoring, Seconds, Submission, in_seconds
from agentbench.judge.submitted_change import JUDGE_AGENT, SubmittedChange
from agentbench.judge.task_register import TaskRegister
from agentbench.judge.verdict_cache import VerdictCache
from agentbench.runs.argument_names import check_types, naming_arguments
from agentbench.runs.executors import MakeAttempt, cluster_of
from agentbench.runs.executors.local import LocalAttempts, slots_elsewhere
from agentbench.runs.options import RunOptions
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.scheduler import AttemptQueue, Capacity, cores_for_attempts
from agentbench.runs.start import configuration_of, open_resources
from agentbench.runs.store.configuration import RunConfiguration, RunEnding
from agentbench.runs.store.store import RunStore, run_lock
from agentbench.sandbox.interface import SandboxProvider
from agentbench.tasks.task import Task, TaskEnvironment

_AHEAD = 4  # times as many changes as jobs that `score_many` takes from its source
# More commands of sessions at a time would only compete for the cores.
_COMMANDS_PER_CORE = 8
_NOT_OPEN = "the judge is not open; use it in a `with` or `async with` block"


@dataclass(slots=True, kw_only=True)
class _OpenJudge:
    store: RunStore
    resources: RunResources
    tasks: TaskRegister
    jobs: JobRunner
    lock: ExitStack
    """Holds the lock of the run."""
    intake: ThreadPoolExecutor
    """One thread, which accepts changes in the order in which they come."""
    commands: ThreadPoolExecutor
    """The threads of commands in sessions."""
    session_lock: Lock = field(default_factory=Lock)
    sessions: set[Session] = field(default_factory=set)
    is_closing: bool = False

    def add_session(self, session: Session) -> None:
        """Add an open session.

        Raises:
            UsageError: the judge is being closed.
        """
        with self.session_lock:
            if self.is_closing:
                raise UsageError(_NOT_OPEN)
            self.sessions.add(session)


class Judge:
    """Judges submitted changes in parallel, each as an attempt of one run.

    Its records, logs and patches are in the folder of that run, for `agentbench show` and `view`.
    All methods may be called from any thread; a scoring that waits takes no thread. Those that need
    an open judge raise UsageError without one.
    """

    def __init__(
        self,
        *,
        sandbox: SandboxProvider | str = "auto",
        jobs: int | None = None,
        reward: RewardKind | str = RewardKind.RESOLVED,
        use_verdicts: bool = True,
        options: RunOptions | None = None,
    ) -> None:
        """Prepare a judge; `with` or `async with` opens it.

        Args:
            sandbox: `auto`, `docker`, `bubblewrap`, `process`, or a provider.
            jobs: How many changes are judged at a time; None: two for each core.
            reward: `resolved`: 1 or 0. `fixed-share`: the share of the tests to fix that pass,
                and 0 if another test fails.
            use_verdicts: Whether equal changes get the stored verdict of the first one.
            options: The other options of a run; their agent, attempts and model are ignored.

        Raises:
            UsageError: an option is wrong.
        """
        check_types(options=options, sandbox=sandbox)
        base = options if options is not None else RunOptions()
        with naming_arguments():
            self._options = base.replace(agent=JUDGE_AGENT, sandbox=sandbox, jobs=jobs, attempts=1)
            self._options.check()
            try:
                self._kind = RewardKind(reward)
            except ValueError:
                known = ", ".join(kind.value for kind in RewardKind)
                raise UsageError(f"reward: expected one of {known}, found {reward!r}") from None
        self._use_verdicts = use_verdicts
        self._judging: _OpenJudge | None = None

    @property
    def folder(self) -> Path:
        """The folder of the run with the records."""
        return self._open_parts().store.folder

    @property
    def run_id(self) -> RunId:
        """The run with the records."""
        return self._open_parts().tasks.configuration.run_id

    @property
    def sandbox(self) -> str:
        """The name of the sandbox."""
        return self._open_parts().tasks.configuration.sandbox

    @property
    def jobs(self) -> int:
        """How many changes are judged at a time."""
        return self._open_parts().tasks.configuration.jobs

    @property
    def waiting(self) -> int:
        """How many changes wait for a free slot."""
        return 0 if self._judging is None else self._judging.jobs.waiting

    @property
    def running(self) -> int:
        """How many changes are being judged."""
        return 0 if self._judging is None else self._judging.jobs.running

    def open(self) -> None:
        """Start the judge: select the sandbox, and create the folder of its run.

        Raises:
            UsageError: it is open, the patches would run without a sandbox, or the runs folder
                cannot be written.
            UnavailableError: the sandbox is not available.
        """
        if self._judging is not None:
            raise UsageError("the judge is open already")
        with naming_arguments():
            self._judging = self._opened()
        self._judging.jobs.start()

    def close(self) -> None:
        """Cancel what has not ended, and wait until all sandboxes are removed."""
        judging = self._judging
        if judging is None:
            return
        with judging.session_lock:
            judging.is_closing = True
            sessions = tuple(judging.sessions)
        for session in sessions:
            session.cancel.set()
        for session in sessions:
            session.close()
        were_jobs = judging.jobs.close()
        # Changes that it has not accepted yet are cancelled.
        judging.intake.shutdown()
        judging.commands.shutdown()
        judging.resources.cancel.set()
        judging.resources.background.finish()
        interrupted = were_jobs or bool(sessions)
        try:
            judging.tasks.write_ending(RunEnding.INTERRUPTED if interrupted else RunEnding.FINISHED)
        finally:
            judging.lock.close()
            self._judging = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.open)
        return self

    async def __aexit__(self, *_error: object) -> None:
        await asyncio.to_thread(self.close)

    def score(
        self,
        task: Task | Path | str,
        *,
        patch: Path | str | bytes | None = None,
        tree: Path | str | bytes | None = None,
        priority: int = 0,
        deadline: Seconds | None = None,
        fresh: bool = False,
    ) -> Scoring:
        """Judge a change. `await` the result, or call its `result()`.

        Args:
            task: A loaded task, or the path of a task's folder, which is read once.
            patch: A unified diff against the task's base commit, or the path of a file with one.
            tree: The files of the changed repository instead: a folder, or a tar as bytes.
            priority: Higher numbers start earlier.
            deadline: Seconds from now. When they have passed, the verdict is one without a reward,
                and the sandboxes are removed.
            fresh: Judge the change even if an equal one has a verdict.

        Raises:
            UsageError: the judge is not open, or not exactly one change is given.
        """
        return self.submit(
            Submission(
                task=task, patch=patch, tree=tree, priority=priority, deadline=deadline, fresh=fresh
            )
        )

    def submit(self, submission: Submission) -> Scoring:
        """Judge a change, like `score`, which says what the fields mean.

        Raises:
            UsageError: the judge is not open, or not exactly one change is given.
        """
        judging = self._open_parts()
        if (submission.patch is None) == (submission.tree is None):
            found = "neither" if submission.patch is None else "both"
            raise UsageError(f"expected a patch or a tree, found {found}")
        future: Future[JudgeVerdict] = Future()
        deadline = submission.deadline
        due = None if deadline is None else time.monotonic() + in_seconds(deadline)
        try:
            judging.intake.submit(_accept, judging, submission, future, due)
        except RuntimeError:  # the executor was shut down meanwhile
            raise UsageError(_NOT_OPEN) from None
        return Scoring(future)

    def score_many(
        self,
        submissions: Iterable[Submission] | AsyncIterable[Submission],
        *,
        ahead: int | None = None,
    ) -> ScoreStream:
        """Judge many changes: yields the position of each with its verdict, as they end.

        Args:
            submissions: The changes; only `ahead` of them are taken before verdicts are consumed.
            ahead: How many changes wait or run at a time; None: four for each job.

        Raises:
            UsageError: the judge is not open, or `ahead` is below 1.
        """
        jobs = self._open_parts().tasks.configuration.jobs
        if ahead is not None and ahead < 1:
            raise UsageError(f"ahead: {ahead} is not above 0")
        return ScoreStream(submissions, self.submit, ahead or _AHEAD * jobs)

    def session(self, task: Task | Path | str) -> SessionContext:
        """A sandbox in which an agent of yours works, and the verdict on what it leaves.

        >>> async with judge.session("tasks/lru-expiry") as session:  # doctest: +SKIP
        ...     result = await session.run("grep -rn expiry src")
        ...     verdict = await session.score()

        In a `with` block, the same calls block the thread.

        Args:
            task: A loaded task, or the path of a task's folder. It must have one step.

        Raises:
            UsageError: the judge is not open.
        """
        judging = self._open_parts()
        cancel = Event()

        def plan() -> SessionPlan:
            ready = judging.tasks.ready(task)
            if ready.task.steps:
                raise UsageError(f"{ready.task.id}: expected a task with one step, found several")
            judging.add_session(session)
            number = judging.tasks.next_number(ready.task)
            folder, _ = judging.store.attempt_folder(ready.task.id, number)
            run_id = judging.tasks.configuration.run_id
            return SessionPlan(
                task=ready.task,
                resources=replace(judging.resources, cancel=cancel),
                store=judging.store,
                slot=AttemptSlot(folder=folder, run_id=run_id, attempt=number),
                kind=self._kind,
            )

        def ended(session: Session) -> None:
            with judging.session_lock:
                judging.sessions.discard(session)

        session = Session(plan, cancel)
        in_thread = InThread(slots=judging.jobs.slots, commands=judging.commands)
        return SessionContext(session, in_thread, ended)

    def _open_parts(self) -> _OpenJudge:
        if self._judging is None or self._judging.is_closing:
            raise UsageError(_NOT_OPEN)
        return self._judging

    def _opened(self) -> _OpenJudge:
        slots = slots_elsewhere(self._options.executor)
        selected, resources = open_resources(self._options)
        jobs = self._options.jobs or slots or cores_for_attempts()
        options = self._options.replace(jobs=jobs)
        configuration = configuration_of((), options, JUDGE_AGENT, selected)
        store = RunStore.create(options.runs_dir, configuration)
        with ExitStack() as stack:
            stack.enter_context(run_lock(store.folder))
            local = (resources.cache.folder, resources.provider) if slots is None else None
            needs = requirements_of(store.folder, None, options.max_outage, local=local)
            breaker = CircuitBreaker(needs, cancel=resources.cancel, say=options.say)
            resources = replace(resources, breaker=breaker)
            if jobs > 1:
                resources = resources.sharing_containers()
            tasks = TaskRegister(options, resources, store, configuration)
            verdicts = VerdictCache(options.cache_dir, resources.provider.name, options.settings())
            elsewhere = slots is not None
            return _OpenJudge(
                store=store,
                resources=resources,
                tasks=tasks,
                jobs=JobRunner(
                    resources,
                    tasks,
                    AttemptQueue(
                        jobs=jobs,
                        capacity=capacity_for(jobs, elsewhere=elsewhere),
                        retries=configuration.retries,
                    ),
                    attempt_maker(configuration, resources.settings, store),
                    verdicts=verdicts if self._use_verdicts else None,
                    kind=self._kind,
                ),
                lock=stack.pop_all(),
                intake=ThreadPoolExecutor(1, thread_name_prefix="judge-intake"),
                commands=ThreadPoolExecutor(
                    _COMMANDS_PER_CORE * available_cpus(), thread_name_prefix="session"
                ),
            )


def _accept(
    judging: _OpenJudge, submission: Submission, future: "Future[JudgeVerdict]", due: float | None
) -> None:
    if judging.is_closing:
        future.cancel()
        return
    try:
        judging.jobs.submit(
            judging.tasks.ready(submission.task),
            SubmittedChange.of(patch=submission.patch, tree=submission.tree),
            Waiter(future=future, due=due, on_start=submission.on_start),
            priority=submission.priority,
            fresh=submission.fresh,
        )
    except BaseException as error:  # noqa: BLE001 - raised where the verdict is awaited
        if not future.done():
            future.set_exception(error)


def attempt_maker(
    configuration: RunConfiguration, settings: RunSettings, store: RunStore
) -> MakeAttempt:
    """A function that makes the attempts of a run; safe to use from several threads."""
    if (cluster := cluster_of(configuration.executor)) is not None:
        return cluster.attempt_maker(configuration, settings, store)

    def make(planned: PlannedAttempt, agent: Agent, resources: RunResources) -> AttemptRecord:
        run_id = configuration.run_id
        attempts = LocalAttempts(run_id=run_id, agent=agent, resources=resources, store=store)
        return attempts.make(planned)

    return make


def capacity_for(jobs: int, *, elsewhere: bool) -> Capacity:
    """This machine's capacity, but at least that of so many usual tasks."""
    # The nodes of a cluster count their own slots.
    if elsewhere:
        return Capacity(cpus=inf, memory_mib=inf)
    host, usual = Capacity.of_host((), jobs), TaskEnvironment()
    return Capacity(
        cpus=max(cores_for_attempts(), jobs * usual.cpus),
        memory_mib=host.memory_mib,
        available=host.available,
    )
