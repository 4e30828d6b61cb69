from agentbench.audit import control_rules
from tests.audit.conftest import attempt_of, edit_record, told


def test_an_attempt_that_was_resolved_without_controls_is_told_of(run_folder):
    (line,) = told(control_rules.no_controls(attempt_of(run_folder)))
    assert line.startswith("info final_test: resolved without blind controls")


def test_an_attempt_that_failed_needs_none(run_folder):
    edit_record(run_folder, lambda record: record.update(resolved=False))
    assert told(control_rules.no_controls(attempt_of(run_folder))) == []
