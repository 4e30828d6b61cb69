import pytest

from agentbench.attempt import judge_by_tests
from agentbench.audit import attempt_rules
from tests.audit.conftest import attempt_of, edit_record, make_run, told
from tests.e2e.small_task import FIXED, LISTED

RULES = (
    attempt_rules.no_controls,
    attempt_rules.weak_controls,
    attempt_rules.controls_disagree,
)
PLACE = "attempts/small/1"


@pytest.fixture
def blind_folder(tmp_path, monkeypatch):
    """A run whose tests were not sealed, so that blind runs controlled them."""
    monkeypatch.setattr(judge_by_tests, "tests_before", lambda _runs: None)
    return make_run(tmp_path / "blind", files={"basket.py": FIXED})


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_an_attempt_that_withstood_its_controls_is_fine(run_folder, rule):
    facts = attempt_of(run_folder)
    assert facts.record.controls.sealed.mismatches == ()
    assert told(rule(facts)) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_an_attempt_that_withstood_blind_runs_is_fine(blind_folder, rule):
    facts = attempt_of(blind_folder)
    assert len(facts.record.controls.runs) == 2
    assert told(rule(facts)) == []


def test_an_attempt_that_was_resolved_without_controls_is_a_warning(run_folder):
    edit_record(run_folder, lambda record: record.update(controls=None))
    assert told(attempt_rules.no_controls(attempt_of(run_folder))) == [
        "warning final_test: resolved without control runs: the record has none; "
        "a forged report would go unnoticed"
    ]


def test_why_there_were_no_controls_is_told(tmp_path):
    tables = '[integrity]\ncontrols = "off"'
    facts = attempt_of(make_run(tmp_path, files={"basket.py": FIXED}, tables=tables))
    (line,) = told(attempt_rules.no_controls(facts))
    assert "resolved without control runs: turned off; " in line


def test_an_attempt_that_failed_needs_none(run_folder):
    edit_record(run_folder, lambda record: record.update(resolved=False, controls=None))
    assert told(attempt_rules.no_controls(attempt_of(run_folder))) == []


def test_tests_that_were_not_controlled_are_counted(run_folder):
    edit_record(run_folder, lambda record: record["controls"]["tests"].pop())
    (line,) = told(attempt_rules.no_controls(attempt_of(run_folder)))
    assert line.startswith(
        "info final_test: 1 of 2 fail_to_pass tests were neither sealed nor required to fail in a "
        "blind run"
    )
    assert line.endswith(LISTED)


def test_weakly_controlled_tests_are_repeated(run_folder):
    weak = {"file": "tests/test_x.py", "function": "test_y", "reason": "it compares with no value"}
    edit_record(run_folder, lambda record: record["controls"].update(weakly_controlled=[weak]))
    assert told(attempt_rules.weak_controls(attempt_of(run_folder))) == [
        "info tests/test_x.py::test_y: weakly controlled: it compares with no value"
    ]


def test_a_sealed_run_that_speaks_against_a_record_without_findings_is_critical(run_folder):
    differs = {"node_id": LISTED[0], "line": 5, "expected": "6", "actual": "5"}
    edit_record(run_folder, lambda r: r["controls"]["sealed"].update(mismatches=[differs]))
    (line,) = told(attempt_rules.controls_disagree(attempt_of(run_folder)))
    assert "its control runs give one: without its expected values, the test gave 5" in line


def test_a_blind_run_that_speaks_against_a_record_without_findings_is_critical(blind_folder):
    run_folder = blind_folder

    def change(record):
        (test, *_) = [t for t in record["controls"]["runs"][0]["tests"] if t["must"] == "fail"]
        test["outcome"] = "passed"

    edit_record(run_folder, change)
    first, second = told(attempt_rules.controls_disagree(attempt_of(run_folder)))
    assert first.startswith(
        "critical record.json: has no critical finding, but its control runs give one: "
    )
    assert second.startswith("critical control-1.json: has failed for tests/")


def test_a_report_of_a_blind_run_that_is_gone_or_damaged_is_critical(blind_folder):
    run_folder = blind_folder
    report = run_folder / PLACE / "control-2.json"
    for content in (b"", b"\0\xff", b"{}"):
        report.write_bytes(content)
        (line,) = told(attempt_rules.controls_disagree(attempt_of(run_folder)))
        assert line.startswith("critical control-2.json: is not a valid report")
    report.unlink()
    assert told(attempt_rules.controls_disagree(attempt_of(run_folder))) == [
        "critical control-2.json: is missing"
    ]


def test_reports_with_made_up_ids_are_not_held_against_anybody(tmp_path):
    hidden = (
        "import basket\nimport pytest\n\n\n@pytest.mark.parametrize('prices, total', "
        "[([1], 1), ([2, 3], 5)])\ndef test_total(prices, total):\n"
        "    assert basket.total(prices) == total\n"
    )
    run = make_run(
        tmp_path,
        files={"basket.py": FIXED},
        hidden={"tests/test_hidden.py": hidden},
        listed=[f"tests/test_hidden.py::test_total[prices{n}-{t}]" for n, t in ((0, 1), (1, 5))],
    )
    facts = attempt_of(run)
    assert facts.record.resolved
    assert told(attempt_rules.controls_disagree(facts)) == []
