"""One attempt after another on one back end, each held against what every attempt must keep."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from agentbench import AttemptRecord, RunOptions, run_attempt
from agentbench.agents.command import CommandAgent
from agentbench.agents.interface import Agent
from agentbench.attempt.record import rescore
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.interface import SandboxProvider
from agentbench.taxonomy import StageName
from tests.e2e.leftovers import left_in_engine, left_on_machine
from tests.e2e.small_task import SmallTask
from tests.patience import with_growing_limit

PREPARED = (StageName.GIT_CLONE, StageName.GIT_CHECKOUT, StageName.SETUP)
WHOLE = tuple(StageName)
"""The stages of an attempt that went all the way."""
_LIMITS_OF_TESTS = (5, 30, 120)  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A back end, and where runs and caches of these tests lie."""

    provider: SandboxProvider
    options: RunOptions
    engine: Engine | None = None  # that of docker

    def attempt(
        self, task: Path, agent: Agent | str, *, walked: tuple[StageName, ...] = WHOLE
    ) -> AttemptRecord:
        """Make one attempt; it walked these stages, is on disk, judges the same, left nothing."""
        with self._leaving_nothing():
            record = run_attempt(task, agent, sandbox=self.provider, options=self.options)
            self.check(record, walked=walked)
        return record

    def command(
        self, task: Path, line: str, *, walked: tuple[StageName, ...] = WHOLE
    ) -> AttemptRecord:
        """Make one attempt by an agent that is a shell command."""
        return self.attempt(task, CommandAgent(line), walked=walked)

    def hanging(self, task: SmallTask, line: str, folder: Path) -> tuple[AttemptRecord, int]:
        """Make an attempt whose final test hangs, and return its record and the tests' limit.

        The limit is one that the baseline keeps, however busy the machine is.
        """

        def attempt_within(seconds: float) -> tuple[AttemptRecord, int]:
            written = replace(task, test_timeout_s=seconds).write(folder / f"within-{seconds}")
            agent = CommandAgent(line)
            record = run_attempt(written, agent, sandbox=self.provider, options=self.options)
            return record, int(seconds)

        with self._leaving_nothing():
            record, seconds = with_growing_limit(
                attempt_within,
                lambda made: len(made[0].stages) == len(WHOLE),
                limits=_LIMITS_OF_TESTS,
            )
            self.check(record, walked=WHOLE)
        return record, seconds

    def with_timeouts(self, scale: float) -> "Bench":
        """The same with every time limit scaled."""
        return replace(self, options=self.options.replace(timeout_scale=scale))

    def check(self, record: AttemptRecord, *, walked: tuple[StageName, ...]) -> None:
        """Hold a record against what is promised of every one."""
        assert tuple(stage.name for stage in record.stages) == walked, record.detail
        store = RunStore.open(self.options.runs_dir / record.run_id)
        assert tuple(read_run(store.folder).records())[-1] == record
        kept = (store.folder_of(record) / "record.json").read_bytes()
        assert AttemptRecord.model_validate_json(kept) == record
        assert rescore(record) == record
        for stage in record.stages:
            assert stage.cached or (store.folder_of(record) / str(stage.log)).is_file()

    @contextmanager
    def _leaving_nothing(self) -> Iterator[None]:
        """A block after which no more is left over than before."""
        others = self.left_over()  # what fixtures of other tests in this process hold open
        yield
        assert [each for each in self.left_over() if each not in others] == []

    def left_over(self) -> list[str]:
        """What this process has not removed."""
        left = left_on_machine(os.getpid(), self.options.cache_dir)
        if self.engine is not None:
            left += left_in_engine(os.getpid(), self.engine)
        return left
