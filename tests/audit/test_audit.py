import json
import shutil

import pytest

from agentbench.attempt.record import rescore
from agentbench.audit import audit
from agentbench.audit.audit import RunAuditFacts, audit_run, audit_task
from agentbench.audit.rule import AuditSubject
from agentbench.audit.run_facts import open_run
from agentbench.audit.task_facts import read_task_facts
from agentbench.runs.store.store import RunStore
from agentbench.tasks.loading import load_tasks
from agentbench.tasks.mirror import Mirrors
from tests.audit.conftest import edit_record, lines_of
from tests.runs.records import configuration, failed, lost, resolved

RULES = (
    audit.torn_records,
    audit.records_disagree,
    audit.record_of_another_run,
    audit.attempts_missing,
    audit.tasks_not_here,
)


@pytest.fixture
def store(tmp_path):
    """A finished run of two attempts, the second of them retried."""
    created = RunStore.create(tmp_path, configuration(attempts=2, ending="finished"))
    for record in (resolved(attempt=1), lost(attempt=2), failed(attempt=2, retry_of=1)):
        folder, _ = created.attempt_folder(record.task_id, record.attempt)
        created.append(record, folder)
    return created


def found(rule, folder, **missing):
    return lines_of(rule(RunAuditFacts(run=open_run(folder), missing_tasks=missing)))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_intact_run_has_no_finding(store, run_folder, rule):
    assert found(rule, store.folder) == []
    assert found(rule, run_folder) == []


def test_rescored_run_has_no_finding(store):
    record = store.latest()[0]
    store.append(rescore(record).replace(detail="x"), store.rescored_folder(record))
    assert found(audit.records_disagree, store.folder) == []


def test_torn_line_is_critical(store):
    lines = (store.folder / "attempts.jsonl").read_bytes()
    (store.folder / "attempts.jsonl").write_bytes(lines[:-40])
    (line,) = found(audit.torn_records, store.folder)
    assert line.startswith("critical attempts.jsonl:3: set aside: ")
    (line,) = found(audit.records_disagree, store.folder)
    assert line == (
        "critical attempts/one/2.retry-1/record.json: has no equal line in attempts.jsonl"
    )


def test_removed_line_is_critical(store):
    path = store.folder / "attempts.jsonl"
    path.write_text("".join(path.read_text().splitlines(True)[1:]))
    assert found(audit.records_disagree, store.folder) == [
        "critical attempts/one/1/record.json: has no equal line in attempts.jsonl"
    ]
    (line,) = found(audit.attempts_missing, store.folder)
    assert line.startswith(
        "critical attempts.jsonl: 1 planned attempts have no record, first one 1"
    )


def test_changed_or_missing_record_is_critical(store):
    record = store.folder / "attempts/one/1/record.json"
    record.write_text(resolved(attempt=1, agent="other").model_dump_json())
    assert found(audit.records_disagree, store.folder) == [
        "critical attempts/one/1/record.json: has no equal line in attempts.jsonl",
        "critical attempts/one/1: a line of attempts.jsonl has no equal record.json",
    ]
    record.unlink()
    assert found(audit.records_disagree, store.folder) == [
        "critical attempts/one/1: a line of attempts.jsonl has no equal record.json"
    ]
    record.write_bytes(b"\0\xff{")
    assert "critical attempts/one/1/record.json: is not a valid record" in found(
        audit.records_disagree, store.folder
    )


def test_record_that_links_out_of_run_is_not_followed(store, tmp_path):
    record = store.folder / "attempts/one/1/record.json"
    shutil.move(record, tmp_path / "elsewhere.json")
    record.symlink_to(tmp_path / "elsewhere.json")
    assert "critical attempts/one/1/record.json: is outside of the run's folder" in found(
        audit.records_disagree, store.folder
    )


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"run_id": "other"}, "belongs to the run other"),
        ({"task_id": "other"}, "belongs to a task that run.json does not list"),
        ({"task_digest": "0"}, "belongs to another state of its task than run.json lists"),
    ],
)
def test_record_of_another_run_is_critical(run_folder, change, what):
    edit_record(run_folder, lambda record: record.update(change))
    place = f"attempts/{change.get('task_id', 'small')}/1"
    assert found(audit.record_of_another_run, run_folder) == [f"critical {place}: {what}"]


def test_missing_attempts_of_unfinished_run_are_info(tmp_path):
    created = RunStore.create(tmp_path, configuration(attempts=3))
    assert found(audit.attempts_missing, created.folder) == [
        "info attempts.jsonl: 3 planned attempts have no record, first one 1 (run: cut off)"
    ]


@pytest.mark.parametrize("limit", ["max_cost_usd", "max_failures"])
def test_missing_attempts_of_limited_run_are_info(tmp_path, limit):
    created = RunStore.create(tmp_path, configuration(attempts=3, ending="finished", **{limit: 1}))
    (line,) = found(audit.attempts_missing, created.folder)
    assert line.startswith("info ")


def test_task_that_is_not_here_is_info(store):
    assert found(audit.tasks_not_here, store.folder, one="tasks/one: is not a task") == [
        "info task one: not checked against its task: tasks/one: is not a task"
    ]


def test_claimed_number_of_attempts_is_limited(store):
    result = json.loads((store.folder / "run.json").read_text())
    del result["digest"]
    (store.folder / "run.json").write_text(json.dumps(result | {"attempts": 10**9}))
    (line,) = found(audit.attempts_missing, store.folder)
    assert line.startswith("critical attempts.jsonl: 9998 planned attempts")


def test_task_is_audited_by_all_rules(facts_of):
    audited = audit_task(facts_of(base={"old.pyc": b"\0"}, fix={}))
    assert (audited.subject, audited.name) == (AuditSubject.TASK, "small")
    assert audited.note == "2 of 2 fail_to_pass functions controlled"
    assert {finding.rule for finding in audited.findings} == {"built-copy-in-base"}


def test_shipped_tasks_have_no_finding(catalogue, tmp_path):
    mirrors = Mirrors(tmp_path)
    for task in load_tasks([catalogue], mirrors=mirrors).tasks:
        audited = audit_task(read_task_facts(task, mirrors))
        assert audited.findings == (), task.id
        first, _, total = audited.note.split()[:3]
        assert first == total, audited.note


def audited(folder, **more):
    return list(audit_run(open_run(folder), Mirrors(folder.parent / "mirrors"), **more))


def test_run_and_its_attempts_are_audited(run_folder):
    run, attempt = audited(run_folder)
    assert (run.subject, run.name) == (AuditSubject.RUN, "one")
    assert run.note.startswith("1 attempts by patient in ")
    assert run.findings == ()
    assert (attempt.subject, attempt.name, attempt.note) == (
        AuditSubject.ATTEMPT,
        "small 1",
        "resolved",
    )
    assert "critical" not in {finding.severity for finding in attempt.findings}


def test_attempts_are_selected_by_task(run_folder):
    assert len(audited(run_folder, globs=["other"])) == 1
    assert len(audited(run_folder, globs=["sm*"])) == 2


@pytest.mark.parametrize("folder", ["/nowhere", "a\0b", "", "x" * 5000])
def test_missing_task_of_run_is_a_finding(run_folder, folder):
    result = json.loads((run_folder / "run.json").read_text())
    del result["digest"]
    result["tasks"][0]["folder"] = folder
    (run_folder / "run.json").write_text(json.dumps(result))
    run, _ = audited(run_folder)
    (finding,) = run.findings
    assert (finding.rule, finding.severity.value) == ("task-not-here", "info")


@pytest.mark.parametrize("task_id", ["../../..", "a\0b", "/etc", "x" * 5000, "\x1b[31m"])
def test_task_id_that_is_a_path_is_not_followed(run_folder, task_id):
    edit_record(run_folder, lambda record: record.update(task_id=task_id))
    rules = {finding.rule for one in audited(run_folder) for finding in one.findings}
    assert {"records-disagree", "record-of-another-run", "files-disagree"} <= rules
