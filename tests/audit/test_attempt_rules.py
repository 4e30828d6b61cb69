import hashlib
import json

import pytest

from agentbench.attempt import judge_by_tests
from agentbench.audit import attempt_rules
from agentbench.audit.audit import ATTEMPT_RULES
from agentbench.tasks.control_level import ControlLevel
from tests.audit.conftest import attempt_of, edit_record, lines_of, make_run
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN, LISTED

pytestmark = pytest.mark.full

ATTEMPT_FOLDER = "attempts/small/1"
OTHER_FIX = BUGGY.replace("sum(prices[1:])", "sum(list(prices))")

CRITICAL = {"rule": "blind", "severity": "critical", "where": "here", "what": "it lied"}


@pytest.mark.parametrize("run", ["run_folder", "blind_folder"])
def test_honest_attempt_has_no_finding_but_lacks_of_sandbox(request, run):
    facts = attempt_of(request.getfixturevalue(run))
    assert facts.record.resolved
    found = {name for name, rule in ATTEMPT_RULES.items() if lines_of(rule(facts))}
    assert found <= {"sandbox-lacks"}


def test_verdict_that_contradicts_its_evidence_is_critical(run_folder):
    def change(record):
        (final,) = [stage for stage in record["stages"] if stage["name"] == "final_test"]
        final["evidence"]["report"]["cases"][0]["outcome"] = "failed"

    edit_record(run_folder, change)
    (line,) = lines_of(attempt_rules.verdict_differs(attempt_of(run_folder)))
    assert line.startswith(
        "critical record.json: the verdict is resolved, but its evidence gives TESTS_FAILED"
    )


def test_verdict_without_final_test_is_critical(run_folder):
    edit_record(run_folder, lambda record: record.update(stages=record["stages"][:-1]))
    (line,) = lines_of(attempt_rules.verdict_differs(attempt_of(run_folder)))
    assert line.startswith(
        "critical record.json: the verdict is resolved, but its evidence gives UNKNOWN"
    )


def test_counts_that_contradict_the_evidence_are_a_warning(run_folder):
    edit_record(run_folder, lambda record: record["counts"].update(fixed=9))
    assert lines_of(attempt_rules.verdict_differs(attempt_of(run_folder))) == [
        "warning record.json: counts: different from what its evidence gives; the verdict is right"
    ]


def test_omitted_finding_is_critical(run_folder):
    edit_record(
        run_folder, lambda record: record["stages"][-1]["evidence"].update(findings=[CRITICAL])
    )
    facts = attempt_of(run_folder)
    (line,) = lines_of(attempt_rules.findings_hidden(facts))
    assert line.startswith("critical record.json: its 0 findings are not the 1 of its stages")
    assert lines_of(attempt_rules.resolved_despite_finding(facts)) == [
        "critical here: resolved despite blind: it lied"
    ]


def test_quarantined_attempt_is_not_resolved_in_spite(run_folder):
    edit_record(run_folder, lambda record: record.update(findings=[CRITICAL], resolved=False))
    assert lines_of(attempt_rules.resolved_despite_finding(attempt_of(run_folder))) == []


def test_changed_or_missing_patch_is_critical(run_folder):
    patch = run_folder / ATTEMPT_FOLDER / "patch.diff"
    patch.write_bytes(patch.read_bytes() + b"\n")
    assert lines_of(attempt_rules.files_disagree(attempt_of(run_folder))) == [
        "critical patch.diff: is not the patch that was judged: its sha256 differs"
    ]
    patch.unlink()
    assert lines_of(attempt_rules.files_disagree(attempt_of(run_folder))) == [
        "critical patch.diff: is missing"
    ]


@pytest.mark.parametrize("path", ["/etc/hostname", "../../../../elsewhere", "a\0b"])
def test_patch_outside_of_run_is_not_read(run_folder, path):
    (run_folder.parent / "elsewhere").write_text("x")
    sha = hashlib.sha256(b"x").hexdigest()
    edit_record(run_folder, lambda record: record["patch"].update(path=path, sha256=sha))
    (line,) = lines_of(attempt_rules.files_disagree(attempt_of(run_folder)))
    assert line.startswith("critical ")
    assert any(why in line for why in ("is outside", "null", "is missing"))


@pytest.mark.parametrize("name", ["baseline.json", "final.json"])
def test_missing_or_damaged_report_is_critical(run_folder, name):
    report = run_folder / ATTEMPT_FOLDER / name
    for content in (report.read_bytes()[:-20], b"{}", b"\0\xff", b"[" * 50_000):
        report.write_bytes(content)
        (line,) = lines_of(attempt_rules.files_disagree(attempt_of(run_folder)))
        assert line.startswith(f"critical {name}: is not a valid report: ")
    report.unlink()
    assert lines_of(attempt_rules.files_disagree(attempt_of(run_folder))) == [
        f"critical {name}: is missing"
    ]


def test_report_that_contradicts_record_is_critical(run_folder):
    report = run_folder / ATTEMPT_FOLDER / "final.json"
    report_document = json.loads(report.read_text())
    (case,) = [test for test in report_document["tests"] if "one_price" in test["node_id"]]
    case["outcome"] = "failed"
    report.write_text(json.dumps(report_document))
    (line,) = lines_of(attempt_rules.files_disagree(attempt_of(run_folder)))
    assert line.startswith(
        "critical final.json: has failed for tests/test_hidden.py::test_one_price"
    )
    report_document["tests"].remove(case)
    report.write_text(json.dumps(report_document))
    assert (
        "has nothing for tests/"
        in lines_of(attempt_rules.files_disagree(attempt_of(run_folder)))[0]
    )
    report_document["outcome"] = "failed"
    report.write_text(json.dumps(report_document))
    (line,) = lines_of(attempt_rules.files_disagree(attempt_of(run_folder)))
    assert line == "critical final.json: has the outcome failed, but the record has passed"


def test_missing_log_is_a_warning(run_folder):
    (run_folder / ATTEMPT_FOLDER / "stages/agent_run.log").unlink()
    assert lines_of(attempt_rules.files_disagree(attempt_of(run_folder))) == [
        "warning stages/agent_run.log: is missing"
    ]


def test_lack_of_isolation_is_a_warning(run_folder):
    lacks = ["no network for agent and tests", "limit on cpu"]
    edit_record(run_folder, lambda record: record["environment"].update(lacks=lacks))
    first, second = lines_of(attempt_rules.sandbox_lacks(attempt_of(run_folder)))
    assert first.startswith("warning sandbox ")
    assert first.endswith("no network for agent and tests; the agent may have fetched the fix")
    assert second.endswith("did not promise: limit on cpu")
    assert second.startswith("info ")


def test_network_of_agent_is_info(run_folder):
    network = {"setup": True, "agent_run": ["pypi.org"], "final_test": False}
    edit_record(run_folder, lambda record: record["environment"].update(lacks=[], network=network))
    (line,) = lines_of(attempt_rules.sandbox_lacks(attempt_of(run_folder)))
    assert line.startswith("info sandbox ")
    assert line.endswith(
        "the agent had a network (only pypi.org), as the task asks: it may have fetched the fix"
    )


def test_weighed_lacks_are_promises():
    from agentbench.sandbox.interface import Promise

    assert set(attempt_rules.WEIGHED_LACKS) <= set(Promise)


def test_changed_task_is_a_warning(run_folder):
    edit_record(run_folder, lambda record: record.update(task_digest="0" * 64))
    (line,) = lines_of(attempt_rules.task_changed(attempt_of(run_folder)))
    assert line.startswith("warning the task: has changed since")


@pytest.fixture
def blind_folder(tmp_path, monkeypatch):
    """A run whose tests were not sealed, so that blind runs controlled them."""
    monkeypatch.setattr(judge_by_tests, "tests_before", lambda _runs: None)
    return make_run(tmp_path / "blind", files={"basket.py": FIXED})


def test_resolved_without_controls_is_a_warning(run_folder):
    edit_record(run_folder, lambda record: record.update(controls=None))
    assert lines_of(attempt_rules.no_controls(attempt_of(run_folder))) == [
        "warning final_test: resolved without control runs: the record has none; "
        "a forged report would go unnoticed"
    ]


def test_reason_for_missing_controls_is_given(tmp_path):
    tables = '[integrity]\ncontrols = "off"'
    facts = attempt_of(make_run(tmp_path, files={"basket.py": FIXED}, tables=tables))
    (line,) = lines_of(attempt_rules.no_controls(facts))
    assert "resolved without control runs: turned off; " in line


def test_failed_attempt_needs_no_controls(run_folder):
    edit_record(run_folder, lambda record: record.update(resolved=False, controls=None))
    assert lines_of(attempt_rules.no_controls(attempt_of(run_folder))) == []


def test_uncontrolled_tests_are_counted(run_folder):
    edit_record(run_folder, lambda record: record["controls"]["tests"].pop())
    (line,) = lines_of(attempt_rules.no_controls(attempt_of(run_folder)))
    assert line.startswith(
        "info final_test: 1 of 2 fail_to_pass tests were neither sealed nor required to fail in a "
        "blind run"
    )
    assert line.endswith(LISTED)


def test_sealed_run_that_contradicts_record_is_critical(run_folder):
    differs = {"node_id": LISTED[0], "line": 5, "expected": "6", "actual": "5"}
    edit_record(run_folder, lambda r: r["controls"]["sealed"].update(mismatches=[differs]))
    (line,) = lines_of(attempt_rules.controls_disagree(attempt_of(run_folder)))
    assert "its control runs give one: without its expected values, the test gave 5" in line


def test_blind_run_that_contradicts_record_is_critical(blind_folder):
    run_folder = blind_folder

    def change(record):
        (test, *_) = [t for t in record["controls"]["runs"][0]["tests"] if t["must"] == "fail"]
        test["outcome"] = "passed"

    edit_record(run_folder, change)
    first, second = lines_of(attempt_rules.controls_disagree(attempt_of(run_folder)))
    assert first.startswith(
        "critical record.json: has no critical finding, but its control runs give one: "
    )
    assert second.startswith("critical control-1.json: has failed for tests/")


def test_missing_or_damaged_blind_report_is_critical(blind_folder):
    run_folder = blind_folder
    report = run_folder / ATTEMPT_FOLDER / "control-2.json"
    for content in (b"", b"\0\xff", b"{}"):
        report.write_bytes(content)
        (line,) = lines_of(attempt_rules.controls_disagree(attempt_of(run_folder)))
        assert line.startswith("critical control-2.json: is not a valid report")
    report.unlink()
    assert lines_of(attempt_rules.controls_disagree(attempt_of(run_folder))) == [
        "critical control-2.json: is missing"
    ]


def test_generated_ids_in_blind_reports_are_ignored(tmp_path):
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
    assert lines_of(attempt_rules.controls_disagree(facts)) == []


@pytest.fixture
def attempt(tmp_path):
    return lambda **more: attempt_of(make_run(tmp_path, controls=ControlLevel.OFF, **more))


def test_hidden_tests_in_dropped_files_are_found(attempt):
    copied = HIDDEN.replace("def test_one_price_is_the_total", "def test_something_else")
    facts = attempt(files={"basket.py": OTHER_FIX, "tests/test_x.py": copied})
    assert [file.path for file in facts.patch] == ["basket.py"]
    lines = lines_of(attempt_rules.hidden_tests_in_patch(facts))
    assert lines[-1] == "warning tests/test_x.py: names hidden tests: test_every_price_counts"
    assert lines[0].startswith("warning tests/test_x.py: adds ")


def test_text_of_instruction_may_be_repeated(attempt):
    facts = attempt(files={"tests/test_x.py": HIDDEN}, instruction=f"{HIDDEN}\n")
    assert lines_of(attempt_rules.hidden_tests_in_patch(facts)) == []


def test_short_test_name_is_no_finding(attempt):
    hidden = "import basket\n\n\ndef test_total():\n    assert basket.total([1]) == 1\n"
    facts = attempt(
        files={"tests/test_x.py": "def test_total():\n    pass\n"},
        hidden={"tests/test_hidden.py": hidden},
        listed=["tests/test_hidden.py::test_total"],
    )
    assert lines_of(attempt_rules.hidden_tests_in_patch(facts)) == []
