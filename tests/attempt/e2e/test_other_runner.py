"""An attempt whose tests run under a runner that agentbench does not know."""

from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath as P

import pytest

from agentbench.attempt.agent_work.agent_outcome import judged_change
from agentbench.attempt.expected_tests import expected_tests
from agentbench.core.files import FileContent
from agentbench.integrity.extraction import WorkspaceChange
from agentbench.scoring.evidence import StageResult
from agentbench.scoring.verdict import judge
from agentbench.tasks.control_level import ControlLevel
from agentbench.taxonomy import FailureReason
from tests.e2e.small_task import BUGGY, FIXED, LISTED
from tests.fakes.plain_runner import PlainRunner
from tests.fakes.staging import go

START = datetime(2026, 1, 1, tzinfo=UTC)
TWICE = 'code=$?; tail -n 1 "$report" >>"$report"; exit $code'


@pytest.fixture
def verdict_on(attempt_by):
    def judged(source, *, after="", level=ControlLevel.FULL, **files):
        with attempt_by() as attempt:
            attempt.runner = PlainRunner()
            attempt.control(level)
            baseline = attempt.baseline = go(attempt, "baseline_run")
            change = {"basket.py": source, **files}
            work = WorkspaceChange(
                files={
                    P(name): FileContent(content=text.encode(), executable=False)
                    for name, text in change.items()
                }
            )
            attempt.runner = PlainRunner(after=after)
            attempt.change = judged_change(attempt.ready, work)
            final = go(attempt, "final_test")
            stages = [
                StageResult(stage=stage, evidence=evidence, started_at=START, duration=timedelta(1))
                for stage, evidence in (("baseline_run", baseline), ("final_test", final))
            ]
            return judge(expected_tests(attempt.task), stages), attempt

    return judged


@pytest.mark.parametrize("level", ControlLevel)
def test_fix_is_resolved_by_the_report_of_another_runner(verdict_on, level):
    verdict, _ = verdict_on(FIXED, level=level)
    assert verdict.resolved
    assert {test.node_id for test in verdict.tests} >= set(LISTED)


def test_wrong_code_fails(verdict_on):
    verdict, _ = verdict_on(BUGGY + "# no fix\n")
    assert verdict.failure_reason is FailureReason.TESTS_FAILED


def test_only_configuration_of_the_runner_is_protected(verdict_on):
    verdict, attempt = verdict_on(FIXED, **{"plain.cfg": "", "conftest.py": ""})
    assert verdict.resolved
    assert [each.path for each in attempt.change.dropped] == ["plain.cfg"]
    assert P("conftest.py") in attempt.change.files


@pytest.mark.parametrize(
    "after",
    [
        pytest.param("exit 1", id="the exit code contradicts the report"),
        pytest.param('rm "$report"; exit 0', id="the report is gone"),
        pytest.param(TWICE, id="a test is reported twice"),
        pytest.param("kill -9 $$", id="the runner was killed"),
    ],
)
def test_contradicted_report_does_not_resolve(verdict_on, after):
    verdict, _ = verdict_on(FIXED, after=after, level=ControlLevel.OFF)
    assert not verdict.resolved
