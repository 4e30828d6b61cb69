import json
from pathlib import PurePosixPath as P

import pytest

from agentbench.core.files import FileContent
from agentbench.errors import DoesNotFitError, SandboxError
from agentbench.integrity.protection import JudgedChange
from agentbench.scoring.evidence import CaseOutcome, PytestOutcome
from agentbench.tasks.control_level import ControlLevel
from agentbench.taxonomy import Fault
from tests.e2e.small_task import FIXED, LISTED
from tests.fakes.staging import go, small_task

FIX = {P("basket.py"): FileContent(content=FIXED.encode(), executable=False)}


def judged(files, emptied=()) -> JudgedChange:
    return JudgedChange(files=files, emptied=emptied, dropped=())


def test_the_change_and_the_hidden_tests_decide(attempt_by, desk):
    with attempt_by() as context:
        context.change = judged(FIX)
        evidence = go(context, "final_test")
    assert evidence.report is not None
    assert evidence.report.outcome is PytestOutcome.PASSED
    assert {case.node_id for case in evidence.report.cases} >= set(LISTED)
    assert json.loads(desk.read("final.json"))["summary"]["passed"] == 4


def test_without_a_change_it_is_the_baseline_again(attempt_by):
    with attempt_by() as context:
        evidence = go(context, "final_test")
    assert evidence.report is not None
    outcomes = {case.node_id: case.outcome for case in evidence.report.cases}
    assert [outcomes[node_id] for node_id in LISTED] == [CaseOutcome.FAILED] * 2


def test_the_hidden_tests_are_written_last(attempt_by):
    weak = FileContent(content=b"def test_it():\n    pass\n", executable=False)
    with attempt_by() as context:
        context.change = judged({P("tests/test_hidden.py"): weak})
        evidence = go(context, "final_test")
    assert evidence.report is not None
    assert evidence.report.outcome is PytestOutcome.FAILED


def test_a_program_that_was_removed_is_gone(attempt_by):
    with attempt_by() as context:
        context.change = judged({P("basket.py"): None})
        evidence = go(context, "final_test")
    assert evidence.report is not None
    assert evidence.report.outcome is PytestOutcome.COLLECTION_ERROR


@pytest.mark.parametrize("level", [ControlLevel.OFF, ControlLevel.FULL])
def test_more_files_than_a_sandbox_may_hold_are_the_agents_doing(attempt_by, tmp_path, level):
    # Its own sandbox is measured now and then, so that an agent may get away with more.
    task = small_task(tmp_path / "tight", environment="files = 1000")
    nothing = FileContent(content=b"", executable=False)
    with attempt_by(task=task) as context:
        context.control(level)
        context.change = judged({P(f"many/{number}"): nothing for number in range(5_000)})
        with pytest.raises(
            DoesNotFitError, match=r"cannot be written: .*limit 1000 files"
        ) as caught:
            go(context, "final_test")
    assert caught.value.fault == Fault.AGENT


def test_it_starts_from_before_the_agent_each_time(attempt_by):
    with attempt_by() as context:
        context.change = judged(FIX)
        go(context, "final_test")
        context.change = None
        evidence = go(context, "final_test")
    assert evidence.report is not None
    assert evidence.report.outcome is PytestOutcome.FAILED


def test_a_change_that_cannot_be_written_is_a_lost_sandbox(attempt_by):
    with attempt_by() as context:
        context.change = judged({P("../outside"): FIX[P("basket.py")]})
        with pytest.raises(SandboxError):
            go(context, "final_test")
