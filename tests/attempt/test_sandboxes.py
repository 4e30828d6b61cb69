from contextlib import contextmanager
from datetime import timedelta
from pathlib import PurePosixPath as P

import pytest

from agentbench.attempt.sandboxes import open_test_sandbox
from agentbench.core.files import FileContent
from agentbench.errors import SandboxError
from agentbench.integrity.protection import JudgedChange
from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import PytestOutcome
from agentbench.tasks.control_level import ControlLevel
from tests.e2e.small_task import FIXED
from tests.fakes.staging import go
from tests.patience import HANG_SECONDS

TRUE = Command(argv=("true",), timeout=timedelta(seconds=HANG_SECONDS))


class Opening:
    """A provider that remembers what it opened, and may refuse to."""

    def __init__(self, inner, *, refuses: int = 0) -> None:
        self._inner, self._refuses = inner, refuses
        self.open_now = self.opened = 0

    def __getattr__(self, name):
        return getattr(self._inner, name)

    @contextmanager
    def open(self, source, **options):
        self.opened += 1
        if self.opened <= self._refuses:
            raise SandboxError("no sandbox today")
        with self._inner.open(source, **options) as sandbox:
            self.open_now += 1
            try:
                yield sandbox
            finally:
                self.open_now -= 1


@contextmanager
def opening(context, **options):
    context.provider = provider = Opening(context.provider, **options)
    context.control(ControlLevel.OFF)  # controls open sandboxes of their own
    yield provider


def test_test_sandbox_is_removed(attempt_by):
    with attempt_by() as context, opening(context) as provider:
        with open_test_sandbox(context.ready) as sandbox:
            assert sandbox.run(TRUE).ok
        context.background.finish()
        assert (provider.opened, provider.open_now) == (1, 0)


@pytest.mark.parametrize("source", [FIXED, FIXED.replace("sum(prices)", "sum(prices) + 1")])
def test_all_sandboxes_of_an_attempt_are_removed(attempt_by, source):
    with attempt_by() as context, opening(context) as provider:
        context.control(ControlLevel.FULL)
        context.baseline = go(context, "baseline_run")
        go(context, "agent_run")
        file = FileContent(content=source.encode(), executable=False)
        context.change = JudgedChange(files={P("basket.py"): file}, emptied=(), dropped=())
        report = go(context, "final_test").report
        context.background.finish()
        assert (report.outcome is PytestOutcome.PASSED) is (source == FIXED)
        assert provider.open_now == 0


def test_unopened_agent_sandbox_is_removed(attempt_by):
    with attempt_by() as context, opening(context, refuses=1) as provider:
        with pytest.raises(SandboxError, match="no sandbox today"):
            go(context, "agent_run")
        assert (provider.opened, provider.open_now) == (1, 0)
