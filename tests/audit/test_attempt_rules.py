import hashlib
import json

import pytest

from agentbench.audit import attempt_rules
from tests.audit.conftest import attempt_of, edit_record, told

RULES = (
    attempt_rules.verdict_differs,
    attempt_rules.findings_hidden,
    attempt_rules.resolved_despite_finding,
    attempt_rules.files_disagree,
    attempt_rules.task_changed,
    attempt_rules.already_recorded,
)
PLACE = "attempts/small/1"
CRITICAL = {"rule": "blind", "severity": "critical", "where": "here", "what": "it lied"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_an_honest_record_agrees_with_itself(run_folder, rule):
    facts = attempt_of(run_folder)
    assert facts.record.resolved
    assert told(rule(facts)) == []


def test_a_verdict_that_its_evidence_does_not_give_is_critical(run_folder):
    def change(record):
        (final,) = [stage for stage in record["stages"] if stage["name"] == "final_test"]
        final["evidence"]["report"]["cases"][0]["outcome"] = "failed"

    edit_record(run_folder, change)
    (line,) = told(attempt_rules.verdict_differs(attempt_of(run_folder)))
    assert line.startswith(
        "critical record.json: the verdict is resolved, but its evidence gives TESTS_FAILED"
    )


def test_a_verdict_turned_to_resolved_is_critical(run_folder):
    edit_record(run_folder, lambda record: record.update(stages=record["stages"][:-1]))
    (line,) = told(attempt_rules.verdict_differs(attempt_of(run_folder)))
    assert line.startswith(
        "critical record.json: the verdict is resolved, but its evidence gives UNKNOWN"
    )


def test_numbers_that_the_evidence_does_not_give_are_a_warning(run_folder):
    edit_record(run_folder, lambda record: record["counts"].update(fixed=9))
    assert told(attempt_rules.verdict_differs(attempt_of(run_folder))) == [
        "warning record.json: counts: different from what its evidence gives; the verdict is right"
    ]


def test_a_finding_that_was_left_out_is_critical(run_folder):
    edit_record(
        run_folder, lambda record: record["stages"][-1]["evidence"].update(findings=[CRITICAL])
    )
    facts = attempt_of(run_folder)
    (line,) = told(attempt_rules.findings_hidden(facts))
    assert line.startswith("critical record.json: its 0 findings are not the 1 of its stages")
    assert told(attempt_rules.resolved_despite_finding(facts)) == [
        "critical here: resolved despite blind: it lied"
    ]


def test_a_quarantined_attempt_is_not_resolved_in_spite(run_folder):
    edit_record(run_folder, lambda record: record.update(findings=[CRITICAL], resolved=False))
    assert told(attempt_rules.resolved_despite_finding(attempt_of(run_folder))) == []


def test_a_patch_that_was_changed_or_is_gone_is_critical(run_folder):
    patch = run_folder / PLACE / "patch.diff"
    patch.write_bytes(patch.read_bytes() + b"\n")
    assert told(attempt_rules.files_disagree(attempt_of(run_folder))) == [
        "critical patch.diff: is not the patch that was judged: its sha256 differs"
    ]
    patch.unlink()
    assert told(attempt_rules.files_disagree(attempt_of(run_folder))) == [
        "critical patch.diff: is missing"
    ]


@pytest.mark.parametrize("path", ["/etc/hostname", "../../../../elsewhere", "a\0b"])
def test_a_patch_outside_of_the_run_is_not_read(run_folder, path):
    (run_folder.parent / "elsewhere").write_text("x")
    sha = hashlib.sha256(b"x").hexdigest()
    edit_record(run_folder, lambda record: record["patch"].update(path=path, sha256=sha))
    (line,) = told(attempt_rules.files_disagree(attempt_of(run_folder)))
    assert line.startswith("critical ")
    assert any(why in line for why in ("is outside", "null", "is missing"))


@pytest.mark.parametrize("name", ["baseline.json", "final.json"])
def test_a_report_that_is_gone_or_damaged_is_critical(run_folder, name):
    report = run_folder / PLACE / name
    for content in (report.read_bytes()[:-20], b"{}", b"\0\xff", b"[" * 50_000):
        report.write_bytes(content)
        (line,) = told(attempt_rules.files_disagree(attempt_of(run_folder)))
        assert line.startswith(f"critical {name}: is not a valid report: ")
    report.unlink()
    assert told(attempt_rules.files_disagree(attempt_of(run_folder))) == [
        f"critical {name}: is missing"
    ]


def test_a_report_that_says_something_else_is_critical(run_folder):
    report = run_folder / PLACE / "final.json"
    said = json.loads(report.read_text())
    (case,) = [test for test in said["tests"] if "one_price" in test["node_id"]]
    case["outcome"] = "failed"
    report.write_text(json.dumps(said))
    (line,) = told(attempt_rules.files_disagree(attempt_of(run_folder)))
    assert line.startswith(
        "critical final.json: has failed for tests/test_hidden.py::test_one_price"
    )
    said["tests"].remove(case)
    report.write_text(json.dumps(said))
    assert "has nothing for tests/" in told(attempt_rules.files_disagree(attempt_of(run_folder)))[0]
    said["outcome"] = "failed"
    report.write_text(json.dumps(said))
    (line,) = told(attempt_rules.files_disagree(attempt_of(run_folder)))
    assert line == "critical final.json: has the outcome failed, but the record has passed"


def test_a_log_that_is_gone_is_a_warning(run_folder):
    (run_folder / PLACE / "stages/agent_run.log").unlink()
    assert told(attempt_rules.files_disagree(attempt_of(run_folder))) == [
        "warning stages/agent_run.log: is missing"
    ]


def test_what_the_sandbox_lacks_is_weighed(run_folder):
    lacks = ["no network for agent and tests", "limit on cpu"]
    edit_record(run_folder, lambda record: record["environment"].update(lacks=lacks))
    first, second = told(attempt_rules.sandbox_lacks(attempt_of(run_folder)))
    assert first.startswith("warning sandbox ")
    assert first.endswith("no network for agent and tests; the agent may have fetched the fix")
    assert second.endswith("did not promise: limit on cpu")
    assert second.startswith("info ")


def test_a_network_of_the_agent_is_mentioned(run_folder):
    network = {"setup": True, "agent_run": ["pypi.org"], "final_test": False}
    edit_record(run_folder, lambda record: record["environment"].update(lacks=[], network=network))
    (line,) = told(attempt_rules.sandbox_lacks(attempt_of(run_folder)))
    assert line.startswith("info sandbox ")
    assert line.endswith(
        "the agent had a network (only pypi.org), as the task asks: it may have fetched the fix"
    )


def test_every_promise_that_is_weighed_is_one_that_sandboxes_make():
    from agentbench.sandbox.interface import Promise

    assert set(attempt_rules.WEIGHED_LACKS) <= set(Promise)


def test_a_task_that_changed_since_is_a_warning(run_folder):
    edit_record(run_folder, lambda record: record.update(task_digest="0" * 64))
    (line,) = told(attempt_rules.task_changed(attempt_of(run_folder)))
    assert line.startswith("warning the task: has changed since")


def test_what_the_harness_dropped_and_found_is_repeated(run_folder):
    def change(record):
        record["patch"]["dropped"] = [{"path": "conftest.py", "why": "configuration of the tests"}]
        record["findings"] = [CRITICAL]

    edit_record(run_folder, change)
    assert told(attempt_rules.already_recorded(attempt_of(run_folder))) == [
        "info conftest.py: not judged: configuration of the tests",
        "info here: recorded (critical): blind: it lied",
    ]
