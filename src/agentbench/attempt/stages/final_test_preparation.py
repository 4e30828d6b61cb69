"""Prepares the final test while the agent works: its sandbox, and the control runs beside it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from agentbench.attempt.context import PreparedContext
from agentbench.attempt.stages.fresh_sandboxes import PreopenedSandbox, preopen_sandbox
from agentbench.core.choices import ControlLevel
from agentbench.scoring.evidence import Evidence

if TYPE_CHECKING:
    from agentbench.attempt.stages.control_runner import ChangedFiles
    from agentbench.attempt.stages.control_runs import ControlRuns


class FinalTestPreparation:
    """Owns what is prepared for one final test; the end of the block removes what is left."""

    def __init__(self, context: PreparedContext, baseline: Evidence) -> None:
        self._context = context
        self._baseline = baseline
        self.sandbox: PreopenedSandbox | None = None
        self.controls: ControlRuns | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def begin(self) -> None:
        """Open the sandbox, plan the control runs and open theirs.

        Raises:
            GitCheckoutError: the hidden tests do not fit the base commit.
        """
        self.sandbox = preopen_sandbox(self._context)
        if self._context.control_level is not ControlLevel.OFF:
            # Imported while an engine creates the sandbox.
            from agentbench.attempt.stages.control_runs import ControlRuns

            self.controls = ControlRuns(self._context, self._baseline)
            self.controls.prepare()

    def take_sandbox(self) -> PreopenedSandbox | None:
        """The sandbox, which the caller now owns."""
        taken, self.sandbox = self.sandbox, None
        return taken

    @contextmanager
    def started_controls(self, change: "ChangedFiles") -> Iterator["ControlRuns"]:
        """The control runs, started; none runs after the block."""
        from agentbench.attempt.stages.control_runs import ControlRuns

        controls, self.controls = self.controls, None
        if controls is None:
            controls = ControlRuns(self._context, self._baseline)
        try:
            controls.start(change)
            yield controls
        finally:
            controls.close()

    def close(self) -> None:
        """Remove what the final test has not taken."""
        if self.controls is not None:
            self.controls.close()
        if self.sandbox is not None:
            self.sandbox.close()
