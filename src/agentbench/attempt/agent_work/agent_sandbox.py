"""The sandbox of an agent: limited by its budget, with its output in the stage's log."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from pathlib import PurePosixPath

from agentbench.agents.interface import Budget
from agentbench.attempt.timeline.recorder import TimelineRecorder
from agentbench.errors import SandboxError
from agentbench.sandbox.interface import Command, OutputSink, Sandbox, SnapshotId, Stream
from agentbench.scoring.evidence import CommandResult
from agentbench.tasks.users import UserName

_ANSWERS_WITHIN = timedelta(seconds=60)
_LEAST = timedelta(seconds=0.05)


class BoundedSandbox:
    """A sandbox whose commands end with the budget and write to the stage's log.

    They run with the task's environment variables, as its set-up and its tests do.
    """

    def __init__(
        self,
        inner: Sandbox,
        budget: Budget,
        sink: OutputSink,
        env: Mapping[str, str],
        user: UserName | None = None,
        *,
        recorder: TimelineRecorder | None = None,
    ) -> None:
        self._inner = inner
        self._budget = budget
        self._sink = sink
        self._env = env
        self._user = user
        self._recorder = recorder
        self._is_killed = False

    @property
    def workspace(self) -> PurePosixPath:
        return self._inner.workspace

    @property
    def results(self) -> PurePosixPath:
        return self._inner.results

    def mounted(self, name: str) -> PurePosixPath:
        return self._inner.mounted(name)

    def run(
        self,
        command: Command | str | Sequence[str],
        *,
        timeout: timedelta | float | None = None,
    ) -> CommandResult:
        remaining = self._budget.remaining()
        if not isinstance(command, Command):
            argv = ("sh", "-c", command) if isinstance(command, str) else tuple(command)
            command = Command(argv=argv, timeout=remaining)
        # Agents are rarely type-checked, and some pass seconds to `Command`, too.
        limit: timedelta | float = command.timeout if timeout is None else timeout
        if not isinstance(limit, timedelta):
            limit = timedelta(seconds=limit)
        limit = max(min(limit, remaining), _LEAST)
        own_sink = command.sink

        def sink(stream: Stream, chunk: bytes) -> None:
            self._sink(stream, chunk)
            if own_sink is not None:
                own_sink(stream, chunk)

        env = {**self._env, **command.env}
        command = replace(command, timeout=limit, sink=sink, env=env, user=self._user)
        if self._recorder is None:
            return self._inner.run(command)
        result = self._inner.run(self._recorder.with_sidecar(command, self._inner))
        self._recorder.note()
        return result

    def kill(self) -> None:
        self._is_killed = True
        self._inner.kill()

    def is_unresponsive(self) -> bool:
        """Whether it no longer runs commands although the agent did not end it."""
        if self._is_killed:
            return False
        try:
            return not self._inner.run(Command(argv=("true",), timeout=_ANSWERS_WITHIN)).ok
        except SandboxError:
            return True

    def read_tree(self, path: PurePosixPath) -> AbstractContextManager[Iterator[bytes]]:
        return self._inner.read_tree(path)

    def write_tree(self, path: PurePosixPath, tar: bytes) -> None:
        self._inner.write_tree(path, tar)

    def snapshot(self, key: str) -> SnapshotId:
        return self._inner.snapshot(key)
