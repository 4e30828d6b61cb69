"""Sessions: a sandbox in which an agent loop works, and the verdict on what it leaves there."""

import asyncio
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import PurePosixPath
from threading import Event, Lock
from typing import TypeVar

from agentbench.agents.interface import AgentOutcome
from agentbench.agents.predictions import PredictionsAgent
from agentbench.attempt.record import AttemptRecord
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.audit.run_facts import RunFolder
from agentbench.core.extensions import Slot, offers
from agentbench.core.schema import JsonObject
from agentbench.errors import RunCancelled, SandboxError, UsageError
from agentbench.judge.attempt_session import AttemptSession, OutsideAgent
from agentbench.judge.judge_verdict import JudgeVerdict
from agentbench.judge.reward_kind import RewardKind
from agentbench.judge.scoring import Seconds, in_seconds
from agentbench.judge.session_trajectory import SessionTrajectory
from agentbench.judge.submitted_change import JUDGE_AGENT
from agentbench.runs.store.store import RunStore
from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import AgentEnding, CommandResult
from agentbench.tasks.problem import Problem
from agentbench.tasks.task import Task
from agentbench.test_tools import answers, arguments
from agentbench.test_tools.project import CallControl, call_tests, sandbox_project

T = TypeVar("T")
_NO_CHANGE = ""
_NOT_OPEN = "the session is not open; use it in a `with` or `async with` block"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """The inputs of one session."""

    task: Task
    resources: RunResources
    store: RunStore
    slot: AttemptSlot
    kind: RewardKind


class Session:
    """A sandbox for one agent. Its calls block; one is made at a time."""

    def __init__(self, plan: Callable[[], SessionPlan], cancel: Event) -> None:
        """A session that is not open yet.

        Args:
            plan: Finds out the inputs, which may take a while.
            cancel: Ends what runs in the sandbox.
        """
        self._planned = plan
        self.cancel = cancel
        self._lock = Lock()
        self._plan: SessionPlan | None = None
        self._attempt: AttemptSession | None = None
        self._outside: OutsideAgent | None = None
        self._verdict: JudgeVerdict | None = None
        self._trajectory = SessionTrajectory()

    @property
    def problem(self) -> Problem:
        """What an agent may know: the instruction, the test command and the limits."""
        if self._plan is None:
            raise UsageError(_NOT_OPEN)
        return self._plan.task.problem

    @property
    def workspace(self) -> PurePosixPath:
        """The folder of the repository in the sandbox."""
        return self._open_sandbox().sandbox.workspace

    @property
    def is_ready(self) -> bool:
        """Whether there is a sandbox; without one, `score` says what failed before."""
        return self._outside is not None and self._verdict is None

    def open(self) -> None:
        """Prepare the task, and open its sandbox.

        Raises:
            StorageError: the disk has no space.
            OutageError: something was unavailable for longer than attempts wait.
        """
        with self._lock:
            plan = self._plan = self._planned()
            plan.resources.breaker.require()
            # Only its name is used, in the record.
            agent = PredictionsAgent({}, name=JUDGE_AGENT)
            self._attempt = AttemptSession(plan.task, agent, plan.resources, plan.slot)
            self._outside = self._attempt.begin()

    def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: Seconds | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> CommandResult:
        """Run a command in the sandbox, as the task's agent.

        Args:
            command: A line for `sh`, or a program with its arguments.
            timeout: Seconds; None: the rest of the agent's time, which always is the limit.
            stdin: Its input.
            env: Variables besides those of the task.
            cwd: Its folder, by default the workspace.

        Raises:
            SandboxError: the sandbox is lost, or the session has ended.
        """
        argv = ("sh", "-c", command) if isinstance(command, str) else tuple(command)
        line = command if isinstance(command, str) else shlex.join(command)
        started = datetime.now(UTC)

        def run(outside: OutsideAgent) -> CommandResult:
            left = outside.budget.remaining()
            limit = left if timeout is None else timedelta(seconds=in_seconds(timeout))
            return outside.sandbox.run(
                Command(
                    argv=argv,
                    timeout=limit,
                    stdin=stdin,
                    env=dict(env or {}),
                    cwd=None if cwd is None else outside.sandbox.workspace / cwd,
                )
            )

        result = self._do(run)
        answer = result.stdout + result.stderr
        if not result.ok:
            answer += f"\nExit code: {result.exit_code}"
        where = {} if cwd is None else {"cwd": cwd}
        self._trajectory.add("run", {"command": line, **where}, answer, started)
        return result

    def read(self, path: str) -> bytes:
        """The content of a file; a relative path is in the workspace.

        Raises:
            SandboxError: it cannot be read, or the session has ended.
        """
        started = datetime.now(UTC)
        content = self._do(lambda outside: outside.read_file(PurePosixPath(path)))
        text = content.decode("utf-8", "backslashreplace")
        self._trajectory.add("read", {"path": path}, text, started)
        return content

    def write(self, path: str, content: bytes | str) -> None:
        """Write a file and create its folders; a relative path is in the workspace.

        Raises:
            SandboxError: it cannot be written, or the session has ended.
        """
        data = content.encode() if isinstance(content, str) else content
        started = datetime.now(UTC)
        self._do(lambda outside: outside.write_file(PurePosixPath(path), data))
        text = data.decode("utf-8", "backslashreplace")
        self._trajectory.add("write", {"path": path, "content": text}, "", started)

    def execute_tests(self, **tool_arguments: object) -> JsonObject:
        """Call the tool `execute_tests` of the MCP server: the same arguments, the same answer.

        Raises:
            SandboxError: the sandbox is lost, or the session has ended.
        """
        return self._call_tests("execute_tests", arguments.ExecuteArguments, tool_arguments)

    def discover_tests(self, **tool_arguments: object) -> JsonObject:
        """Call the tool `discover_tests` of the MCP server; see `execute_tests`."""
        return self._call_tests("discover_tests", arguments.DiscoverArguments, tool_arguments)

    def score(
        self, *, ending: AgentEnding | str = AgentEnding.SUBMITTED, detail: str = ""
    ) -> JudgeVerdict:
        """End the agent's work, and judge what is left. A second call gives the same verdict.

        Args:
            ending: How the agent stopped, for example `submitted`, `step_limit` or `llm_error`.
            detail: Why it stopped, for the record.

        Raises:
            UsageError: there is no such ending, or the session is not open.
            StorageError: the record cannot be written.
        """
        try:
            outcome = AgentOutcome(ending=AgentEnding(ending), detail=detail)
        except ValueError:
            known = ", ".join(AgentEnding)
            raise UsageError(f"ending: expected one of {known}, found {ending!r}") from None
        with self._lock:
            if self._verdict is None:
                self._verdict = self._finished(outcome)
            return self._verdict

    def close(self) -> None:
        """Remove the sandbox. Work that was not scored is recorded as interrupted."""
        with self._lock:
            if self._verdict is None and self._attempt is not None:
                self.cancel.set()
                self._verdict = self._finished(AgentOutcome(ending=AgentEnding.INTERRUPTED))

    def _finished(self, outcome: AgentOutcome) -> JudgeVerdict:
        attempt, plan = self._attempt, self._plan
        if attempt is None or plan is None:
            raise UsageError(_NOT_OPEN)

        def store(record: AttemptRecord) -> None:
            slot, written = plan.slot, plan.resources.breaker.written
            name = f"{slot.run_id}/{record.task_id}/{slot.attempt}"
            written(lambda: self._trajectory.write(slot.folder, name))
            written(lambda: plan.store.append(record, slot.folder))

        record = attempt.finish(self._outside, outcome, store)
        digest = record.patch.sha256 if record.patch is not None else _NO_CHANGE
        verdict = JudgeVerdict.of(record, digest, plan.kind)
        reader = offers(Slot.BEHAVIOUR).get("reader")
        if reader is None:
            return verdict
        run = RunFolder.with_one(plan.store, record)
        found = reader.load()(run, plan.resources.mirrors)(record)
        return verdict.replace(
            behaviour=tuple(each.tag.value for each in found.found),
            solved_at_step=found.solved_at_step,
            lost_at_step=found.lost_at_step,
        )

    def _open_sandbox(self) -> OutsideAgent:
        if self._outside is None or self._verdict is not None:
            raise SandboxError("the session has no sandbox: it has ended, or its task failed")
        return self._outside

    def _do(self, work: Callable[[OutsideAgent], T]) -> T:
        with self._lock:
            outside = self._open_sandbox()
            try:
                return work(outside)
            except RunCancelled:
                raise SandboxError("the session was cancelled") from None

    def _call_tests(
        self,
        tool: str,
        kind: type[arguments.ExecuteArguments | arguments.DiscoverArguments],
        given: Mapping[str, object],
    ) -> JsonObject:
        def call(outside: OutsideAgent) -> JsonObject:
            problem = self.problem
            project = sandbox_project(
                outside.sandbox,
                problem.tests,
                env=problem.test_env,
                isolated=not problem.network,
            )
            try:
                checked = arguments.read_arguments(kind, given)
            except arguments.InvalidArgumentsError as error:
                return answers.invalid_arguments(error.faults)
            return call_tests(project, checked, CallControl(cancel=self.cancel))

        started = datetime.now(UTC)
        answer = self._do(call)
        text = json.dumps(answer, default=str)
        self._trajectory.add(tool, json.loads(json.dumps(given, default=str)), text, started)
        return answer


class AsyncSession:
    """The calls of `Session`, to await. Only a call that runs takes a thread."""

    def __init__(self, session: Session, in_thread: "InThread") -> None:
        self._session = session
        self._in_thread = in_thread
        self._lock = asyncio.Lock()

    @property
    def problem(self) -> Problem:
        return self._session.problem

    @property
    def workspace(self) -> PurePosixPath:
        return self._session.workspace

    @property
    def is_ready(self) -> bool:
        return self._session.is_ready

    async def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: Seconds | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> CommandResult:
        call = partial(self._session.run, command, timeout=timeout, stdin=stdin, env=env, cwd=cwd)
        return await self._call(call)

    async def read(self, path: str) -> bytes:
        return await self._call(partial(self._session.read, path))

    async def write(self, path: str, content: bytes | str) -> None:
        await self._call(partial(self._session.write, path, content))

    async def execute_tests(self, **tool_arguments: object) -> JsonObject:
        return await self._call(partial(self._session.execute_tests, **tool_arguments))

    async def discover_tests(self, **tool_arguments: object) -> JsonObject:
        return await self._call(partial(self._session.discover_tests, **tool_arguments))

    async def score(
        self, *, ending: AgentEnding | str = AgentEnding.SUBMITTED, detail: str = ""
    ) -> JudgeVerdict:
        call = partial(self._session.score, ending=ending, detail=detail)
        return await self._call(call, heavy=True)

    async def _call(self, work: Callable[[], T], *, heavy: bool = False) -> T:
        async with self._lock:
            return await self._in_thread.call(work, heavy=heavy)


@dataclass(frozen=True, slots=True, kw_only=True)
class InThread:
    """Runs blocking work in a judge's threads."""

    slots: Executor
    """For work that prepares or judges."""
    commands: Executor
    """For the commands of agents."""

    async def call(self, work: Callable[[], T], *, heavy: bool) -> T:
        """The result of the work. If the caller is cancelled, the work still runs to its end."""
        loop = asyncio.get_running_loop()
        try:
            running = loop.run_in_executor(self.slots if heavy else self.commands, work)
        # The judge was closed meanwhile, and a session still has to close its sandbox.
        except RuntimeError:
            running = loop.run_in_executor(None, work)
        # A thread cannot be cancelled, and the session's lock must hold until it has ended.
        return await asyncio.shield(running)


class SessionContext:
    """`with` gives a `Session`, `async with` an `AsyncSession`; the end of the block closes it."""

    def __init__(
        self, session: Session, in_thread: InThread, ended: Callable[[Session], None]
    ) -> None:
        self._session = session
        self._in_thread = in_thread
        self._ended = ended

    def __enter__(self) -> Session:
        try:
            self._session.open()
        except BaseException:
            self._close()
            raise
        return self._session

    def __exit__(self, *_error: object) -> None:
        self._close()

    async def __aenter__(self) -> AsyncSession:
        try:
            await self._in_thread.call(self._session.open, heavy=True)
        except BaseException:
            self._session.cancel.set()
            await self._in_thread.call(self._close, heavy=True)
            raise
        return AsyncSession(self._session, self._in_thread)

    async def __aexit__(self, kind: object, *_error: object) -> None:
        # A command that still runs would keep a cancelled caller waiting.
        if kind is not None:
            self._session.cancel.set()
        await self._in_thread.call(self._close, heavy=True)

    def _close(self) -> None:
        try:
            self._session.close()
        finally:
            self._ended(self._session)
