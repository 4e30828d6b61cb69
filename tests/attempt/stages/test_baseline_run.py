import json

from agentbench.scoring.evidence import CaseOutcome
from tests.e2e.small_task import HIDDEN, LISTED
from tests.fakes.staging import go, prepare, small_task, staged


def baseline(provider, desk, task):
    with staged(task, provider, desk) as context:
        prepare(context)
        return go(context, "baseline_run")


def test_hidden_tests_fail_on_the_buggy_code_and_the_visible_ones_pass(provider, desk, tmp_path):
    evidence = baseline(provider, desk, small_task(tmp_path / "small"))
    assert evidence.report is not None
    outcomes = {case.node_id: case.outcome for case in evidence.report.cases}
    assert [outcomes[node_id] for node_id in LISTED] == [CaseOutcome.FAILED] * 2
    assert outcomes["tests/test_basket.py::test_the_cheapest_is_found"] is CaseOutcome.PASSED
    assert evidence.warnings == ()
    assert evidence.own_seconds > 0
    assert json.loads(desk.read("baseline.json"))["summary"]["failed"] == 2


def test_prepared_state_has_no_hidden_tests(provider, desk, tmp_path):
    with staged(small_task(tmp_path / "small"), provider, desk) as context:
        prepare(context)
        go(context, "baseline_run")
        assert context.prepared is not None
        with provider.open(
            context.prepared.snapshot, limits=context.inputs.limits, network=False
        ) as box:
            from tests.sandbox.conformance_base import sh

            assert sh(box, "ls tests").stdout.split() == ["test_basket.py"]


def test_passing_listed_test_is_a_warning(provider, desk, tmp_path):
    passing = "\n\ndef test_nothing():\n    pass\n"
    listed = (*LISTED, "tests/test_hidden.py::test_nothing")
    task = small_task(tmp_path / "small", hidden=HIDDEN + passing, fail_to_pass=listed)
    (warning,) = baseline(provider, desk, task).warnings
    assert warning.endswith("test_nothing")
