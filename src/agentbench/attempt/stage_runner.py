"""Runs the stages of one attempt in turn, within the time limits of each and of the attempt."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Self, TypeVar

from agentbench.attempt.context import StageOutput
from agentbench.attempt.logs import EventLog, StageLog
from agentbench.attempt.outages import storage_errors
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.errors import AttemptTimeoutError, RunCancelled, StorageError
from agentbench.sandbox.interface import OutputSink, Stream
from agentbench.scoring.classification import Failure, classify, exception_fact
from agentbench.scoring.evidence import Evidence, StageResult
from agentbench.taxonomy import Fault, StageName

PREPARATION = frozenset({StageName.GIT_CLONE, StageName.GIT_CHECKOUT, StageName.SETUP})
"""The stages whose result is a snapshot that later attempts start from."""

_POLL = 0.1  # seconds, since no call waits for two events
_AGENTS_OWN = frozenset({StageName.AGENT_RUN, StageName.FINAL_TEST})
_STORED_OUTPUT = 4_096  # characters of each stream of a deciding command; the log has the rest
OutputT = TypeVar("OutputT", bound=StageOutput)
ResultT = TypeVar("ResultT")


class AttemptDeadline(Event):
    """The `cancel` event of an attempt's sandboxes: set if it is late or the run is cancelled."""

    def __init__(self, run: Event, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._run = run
        self._clock = clock
        self._deadline = float("inf")
        self.limit: timedelta | None = None

    def begin(self, limit: timedelta) -> None:
        """Start the attempt's time."""
        self.limit = limit
        self._deadline = self._clock() + limit.total_seconds()

    def extend(self, seconds: float) -> None:
        """Give the attempt more time, since it waits for another attempt."""
        self._deadline += seconds

    @property
    def is_late(self) -> bool:
        """Whether the attempt's own time is over and the run is not cancelled."""
        return not self._run.is_set() and self._clock() >= self._deadline

    def is_set(self) -> bool:
        """Whether the attempt has to end."""
        return super().is_set() or self._run.is_set() or self.is_late

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the attempt has to end, or for some seconds; returns whether it has to end."""
        end = float("inf") if timeout is None else self._clock() + timeout
        while not self.is_set() and (remaining := end - self._clock()) > 0:
            self._run.wait(min(remaining, _POLL))
        return self.is_set()


class StageRunner:
    """Runs the stages of one attempt in turn, and collects their results."""

    def __init__(self, resources: RunResources, slot: AttemptSlot) -> None:
        self._resources = resources
        self._slot = slot
        self.deadline = AttemptDeadline(resources.cancel)
        self.events = EventLog(slot.folder, written=resources.breaker.written)
        self.results: list[StageResult] = []

    def run(self, stage: StageName, work: Callable[[OutputSink], OutputT]) -> OutputT | None:
        """Run one stage; its output, or None if it raised an exception.

        Args:
            stage: Its name.
            work: A function that runs it; receives the log's sink.

        Raises:
            StorageError: the disk has no space for the files of the stage.
        """
        with self.begin(stage) as running:
            return running.do(work)

    def begin(self, stage: StageName) -> "RunningStage":
        """Start one stage, whose work is done in one or more calls until it is ended.

        Raises:
            StorageError: the disk has no space for the files of the stage.
        """
        self.events.started(stage)
        if self._slot.status is not None:
            self._slot.status.stage = stage
        return RunningStage(self, stage, self._opened_log(stage))

    def run_to_success(
        self, stage: StageName, work: Callable[[OutputSink], OutputT]
    ) -> OutputT | None:
        """Run one stage; its output, or None if the evidence shows a failure."""
        output = self.run(stage, work)
        return output if self.last_failure() is None else None

    def add(self, result: StageResult) -> None:
        """Add the result of a stage that has ended."""
        self.results.append(result)
        self.events.ended(result)

    def last_failure(self) -> Failure | None:
        """The failure of the last stage."""
        last = self.results[-1]
        return classify(last.stage, last.evidence)

    def require_time(self) -> None:
        """Check that the attempt may go on.

        Raises:
            RunCancelled: its time is over, or the run was cancelled.
        """
        if self.deadline.is_set():
            raise RunCancelled

    def forget_images(self) -> None:
        """Ask for images again after an error: one may have been removed or built again."""
        self._resources.images.clear()

    def save(self, name: str, content: bytes) -> None:
        """Write a file of the attempt.

        Raises:
            StorageError: the disk has no space for it.
        """

        def write() -> None:
            """Write the file."""
            with storage_errors(self._slot.folder):
                target = self._slot.folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)

        self._resources.breaker.written(write)

    def _opened_log(self, stage: StageName) -> StageLog:
        def opened() -> StageLog:
            """Open the stage's log."""
            with storage_errors(self._slot.folder):
                return StageLog(self._slot.folder / "stages" / f"{stage}.log")

        return self._resources.breaker.written(opened)

    def cause(self, stage: StageName, error: Exception | RunCancelled) -> Exception | RunCancelled:
        """The error, or the end of the attempt's time if that cancelled the stage."""
        limit = self.deadline.limit
        if not isinstance(error, RunCancelled) or limit is None or not self.deadline.is_late:
            return error
        # Not an infrastructure failure, since an agent's files may be slow to read and to run.
        fault = Fault.AGENT if stage in _AGENTS_OWN else Fault.INFRASTRUCTURE
        return AttemptTimeoutError(
            f"the whole attempt was still running after {limit.total_seconds():.0f} s",
            fault=fault,
        )


class RunningStage:
    """A stage that has started. Its calls may come from different threads, one at a time."""

    def __init__(self, runner: StageRunner, stage: StageName, log: StageLog) -> None:
        self._runner = runner
        self._stage = stage
        self._log = log
        self._started_at, self._started = datetime.now(UTC), time.monotonic()
        self._evidence = Evidence()
        self.has_failed = False
        """Whether a call raised an exception; then nothing more is done."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_error: object) -> None:
        if kind is None:
            self.end()
        else:
            self._log.close()

    @property
    def sink(self) -> OutputSink:
        """Writes to the stage's log."""
        return self._log.write

    def do(self, work: Callable[[OutputSink], ResultT]) -> ResultT | None:
        """Do a part of the work; its result, or None if it raised an exception.

        A `StageOutput` has the evidence of the stage.

        Raises:
            StorageError: the disk has no space for the files of the stage.
        """
        result: ResultT | None = None
        try:
            self._runner.require_time()
            result = work(self._log.write)
            self._take_evidence(result)
        except StorageError:
            raise  # there is no space for this evidence, or for any other
        except (Exception, RunCancelled) as error:  # noqa: BLE001 - becomes evidence
            # The one place where an exception becomes a reason: a lost sandbox, a cancelled
            # run, or a bug of agentbench. Each one is recorded as evidence of its stage.
            cause = self._runner.cause(self._stage, error)
            self._evidence = Evidence(exception=exception_fact(self._stage, cause))
            self._runner.forget_images()
            self._log.write(Stream.STDERR, f"{type(cause).__name__}: {cause}\n".encode())
            self.has_failed = True
        return result

    def _take_evidence(self, result: object) -> None:
        """Take the evidence of an output; an error in it is raised, as if the stage had done so."""
        if isinstance(result, StageOutput):
            if result.error is not None:
                raise result.error
            self._evidence = result.evidence

    def end(self) -> None:
        """Close the log, and add the stage's result to the attempt's.

        Raises:
            StorageError: the disk has no space for the log.
        """
        self._log.close()
        self._runner.add(
            StageResult(
                stage=self._stage,
                evidence=shortened(self._evidence),
                started_at=self._started_at,
                duration=timedelta(seconds=time.monotonic() - self._started),
            )
        )


def shortened(evidence: Evidence) -> Evidence:
    """Evidence with only the end of its output, to be judged.

    The record stores the same, so that judging it again gives the same verdict.
    """
    command, exception = evidence.command, evidence.exception
    if command is not None:
        stdout, stderr = command.stdout[-_STORED_OUTPUT:], command.stderr[-_STORED_OUTPUT:]
        command = command.model_copy(update={"stdout": stdout, "stderr": stderr})
    if exception is not None:
        text = exception.message.encode("utf-8", "replace").decode()
        traceback = exception.traceback[-_STORED_OUTPUT:]
        exception = exception.model_copy(
            update={"message": text[:_STORED_OUTPUT], "traceback": traceback}
        )
    return evidence.model_copy(update={"command": command, "exception": exception})
