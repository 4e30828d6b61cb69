from contextlib import contextmanager
from datetime import timedelta
from pathlib import PurePosixPath as P
from threading import Semaphore

import pytest

from agentbench.attempt.stages.judged_tests import PreopenedSandbox, fresh_sandbox, preopen_sandbox
from agentbench.attempt.stages.judging import FinalTestPreparation
from agentbench.attempt.stages.service_logs import open_sandbox
from agentbench.core.choices import ControlLevel
from agentbench.core.files import FileContent
from agentbench.errors import SandboxError
from agentbench.integrity.protection import JudgedChange
from agentbench.pytest_results.execution import reporter_mounts
from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import Evidence, PytestOutcome
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


def with_preopened(context) -> PreopenedSandbox:
    """A sandbox for the final test of an attempt, as its agent's stage opens it."""
    context.preparation = FinalTestPreparation(context.ready, Evidence())
    context.preparation.sandbox = ahead = preopened(context)
    return ahead


def preopened(context) -> PreopenedSandbox:
    """A sandbox of the prepared state, opened in the background."""
    ready = context.ready
    opened = open_sandbox(ready, ready.prepared.snapshot, mounts=reporter_mounts())
    return PreopenedSandbox(ready.background, lambda: opened)


def test_nothing_is_left_of_a_sandbox(attempt_by):
    with attempt_by() as context, opening(context) as provider:
        with fresh_sandbox(context.ready) as sandbox:
            assert sandbox.run(TRUE).ok
        context.background.finish()
        assert (provider.opened, provider.open_now) == (1, 0)


def test_a_sandbox_that_nobody_takes_is_removed(attempt_by):
    with attempt_by() as context, opening(context) as provider:
        preopened(context).close()
        context.background.finish()
        assert (provider.opened, provider.open_now) == (1, 0)


def test_where_a_command_sees_all_files_none_is_made_ahead(attempt_by):
    with attempt_by() as context, opening(context) as provider:
        provider.promises = frozenset()
        assert preopen_sandbox(context.ready) is None
        assert provider.opened == 0


def test_the_final_test_takes_the_one_that_was_made(attempt_by):
    with attempt_by() as context, opening(context) as provider:
        with_preopened(context)
        report = go(context, "final_test").report
        context.background.finish()
        assert report is not None
        assert report.outcome is PytestOutcome.FAILED
        assert (provider.opened, provider.open_now) == (1, 0)


@pytest.mark.parametrize("lost", ["when it is made", "later"])
def test_the_final_test_makes_another_one_if_that_is_lost(attempt_by, lost):
    refuses = 1 if lost == "when it is made" else 0
    with attempt_by() as context, opening(context, refuses=refuses) as provider:
        ahead = with_preopened(context)
        if lost == "later":
            _, sandbox = ahead._opened.result()
            sandbox.kill()
        report = go(context, "final_test").report
        context.background.finish()
        assert report is not None
        assert report.outcome is PytestOutcome.FAILED
        assert (provider.opened, provider.open_now) == (2, 0)


def test_the_agent_works_while_it_is_made(attempt_by):
    made = []

    def look(given) -> None:
        del given
        made.append(context.preparation.sandbox)

    with attempt_by(look) as context, opening(context):
        go(context, "agent_run")
        assert made == [context.preparation.sandbox]


@pytest.mark.parametrize(("idle", "blind"), [(0, 0), (1, 1), (5, 1)])
def test_no_more_sandboxes_of_sealed_runs_lie_idle_than_may(attempt_by, idle, blind):
    with attempt_by() as context, opening(context) as provider:
        context.control(ControlLevel.FULL)
        context.idle_slots = Semaphore(idle)
        context.baseline = go(context, "baseline_run")
        before = provider.opened
        go(context, "agent_run")
        context.preparation.controls._sealed.result()  # the reference solution was run
        assert context.idle_slots._value == idle - blind
        context.close()
        context.background.finish()
        # beside the agent's, the final test's and the reference solution's
        assert provider.opened - before == 3 + blind
        assert provider.open_now == 0
        assert context.idle_slots._value == idle


def test_the_sealed_run_takes_what_was_made_for_it(attempt_by):
    with attempt_by() as context, opening(context) as provider:
        context.control(ControlLevel.FULL)
        context.baseline = go(context, "baseline_run")
        before = provider.opened
        go(context, "agent_run")
        assert context.preparation.controls is not None
        file = FileContent(content=FIXED.encode(), executable=False)
        context.change = JudgedChange(files={P("basket.py"): file}, emptied=(), dropped=())
        go(context, "final_test")
        context.background.finish()
        assert (
            provider.opened - before == 4
        )  # of the agent, the reference, the seal, the final test
        assert context.idle_slots._value == 2
        assert provider.open_now == 0


@pytest.mark.parametrize("is_right", [True, False])
def test_the_final_test_waits_for_the_sealed_run(attempt_by, is_right):
    with attempt_by() as context, opening(context):
        context.control(ControlLevel.SAMPLE)
        context.baseline = go(context, "baseline_run")
        go(context, "agent_run")
        final = context.preparation.sandbox
        (sealed,) = context.preparation.controls._runs._preopened
        source = FIXED if is_right else FIXED.replace("sum(prices)", "sum(prices) + 1")
        file = FileContent(content=source.encode(), executable=False)
        context.change = JudgedChange(files={P("basket.py"): file}, emptied=(), dropped=())
        report = go(context, "final_test").report
        context.background.finish()
        assert report is not None
        assert (report.outcome is PytestOutcome.PASSED) is is_right
        assert sealed._tests.result()._gate.is_open
        assert final._tests.result()._gate.is_open is is_right
        assert final._tests.result()._gate.is_abandoned is not is_right


def test_a_sandbox_that_is_lost_while_its_tests_wait_is_replaced(attempt_by):
    with attempt_by() as context, opening(context) as provider:
        ahead = with_preopened(context)
        context.preparation.start_final()
        ahead._tests.result().sandbox.kill()
        report = go(context, "final_test").report
        context.background.finish()
        assert report is not None
        assert report.outcome is PytestOutcome.FAILED
        assert (provider.opened, provider.open_now) == (2, 0)


def test_the_agents_sandbox_is_removed_where_the_blind_runs_cannot_be_planned(
    attempt_by, monkeypatch
):
    def fail(*_given):
        raise SandboxError("no plan")

    monkeypatch.setattr("agentbench.attempt.stages.control_runs.ControlRuns.prepare", fail)
    with attempt_by() as context, opening(context) as provider:
        context.control(ControlLevel.FULL)
        context.baseline = Evidence()
        with pytest.raises(SandboxError, match="no plan"):
            go(context, "agent_run")
        context.close()
        context.background.finish()
        assert (provider.opened, provider.open_now) == (2, 0)
