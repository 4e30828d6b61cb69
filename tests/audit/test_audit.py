import json
import shutil

import pytest

from agentbench.attempt.record import rescore
from agentbench.audit import audit
from agentbench.audit.audit import TASK_RULES, RunAuditFacts, audit_task
from agentbench.audit.rule import AuditSubject
from agentbench.audit.run_facts import open_run
from agentbench.audit.task_facts import read_task_facts
from agentbench.runs.store.store import RunStore
from agentbench.tasks.loading import load_tasks
from agentbench.tasks.mirror import Mirrors
from tests.audit.conftest import edit_record, told
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
    made = RunStore.create(tmp_path, configuration(attempts=2, ending="finished"))
    for record in (resolved(attempt=1), lost(attempt=2), failed(attempt=2, retry_of=1)):
        folder, _ = made.attempt_folder(record.task_id, record.attempt)
        made.append(record, folder)
    return made


def seen(rule, folder, **missing):
    return told(rule(RunAuditFacts(run=open_run(folder), missing_tasks=missing)))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_whole_run_is_whole(store, run_folder, rule):
    assert seen(rule, store.folder) == []
    assert seen(rule, run_folder) == []


def test_a_rescored_run_is_whole(store):
    record = store.latest()[0]
    store.append(rescore(record).replace(detail="x"), store.rescored_folder(record))
    assert seen(audit.records_disagree, store.folder) == []


def test_a_torn_line_is_critical(store):
    lines = (store.folder / "attempts.jsonl").read_bytes()
    (store.folder / "attempts.jsonl").write_bytes(lines[:-40])
    (line,) = seen(audit.torn_records, store.folder)
    assert line.startswith("critical attempts.jsonl:3: set aside: ")
    (line,) = seen(audit.records_disagree, store.folder)
    assert line == (
        "critical attempts/one/2.retry-1/record.json: has no equal line in attempts.jsonl"
    )


def test_a_line_that_was_taken_out_leaves_its_record_behind(store):
    path = store.folder / "attempts.jsonl"
    path.write_text("".join(path.read_text().splitlines(True)[1:]))
    assert seen(audit.records_disagree, store.folder) == [
        "critical attempts/one/1/record.json: has no equal line in attempts.jsonl"
    ]
    (line,) = seen(audit.attempts_missing, store.folder)
    assert line.startswith(
        "critical attempts.jsonl: 1 planned attempts have no record, first one 1"
    )


def test_a_record_that_differs_or_is_gone_is_critical(store):
    record = store.folder / "attempts/one/1/record.json"
    record.write_text(resolved(attempt=1, agent="other").model_dump_json())
    assert seen(audit.records_disagree, store.folder) == [
        "critical attempts/one/1/record.json: has no equal line in attempts.jsonl",
        "critical attempts/one/1: a line of attempts.jsonl has no equal record.json",
    ]
    record.unlink()
    assert seen(audit.records_disagree, store.folder) == [
        "critical attempts/one/1: a line of attempts.jsonl has no equal record.json"
    ]
    record.write_bytes(b"\0\xff{")
    assert "critical attempts/one/1/record.json: is not a valid record" in seen(
        audit.records_disagree, store.folder
    )


def test_a_record_that_is_a_link_out_of_the_run_is_not_followed(store, tmp_path):
    record = store.folder / "attempts/one/1/record.json"
    shutil.move(record, tmp_path / "elsewhere.json")
    record.symlink_to(tmp_path / "elsewhere.json")
    assert "critical attempts/one/1/record.json: is outside of the run's folder" in seen(
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
def test_a_record_from_elsewhere_is_critical(run_folder, change, what):
    edit_record(run_folder, lambda record: record.update(change))
    place = f"attempts/{change.get('task_id', 'small')}/1"
    assert seen(audit.record_of_another_run, run_folder) == [f"critical {place}: {what}"]


def test_an_unfinished_run_may_lack_attempts(tmp_path):
    made = RunStore.create(tmp_path, configuration(attempts=3))
    assert seen(audit.attempts_missing, made.folder) == [
        "info attempts.jsonl: 3 planned attempts have no record, first one 1 (run: cut off)"
    ]


@pytest.mark.parametrize("limit", ["max_cost_usd", "max_failures"])
def test_a_run_that_reached_its_limit_may_lack_attempts(tmp_path, limit):
    made = RunStore.create(tmp_path, configuration(attempts=3, ending="finished", **{limit: 1}))
    (line,) = seen(audit.attempts_missing, made.folder)
    assert line.startswith("info ")


def test_a_task_that_is_not_here_is_told_of(store):
    assert seen(audit.tasks_not_here, store.folder, one="tasks/one: is not a task") == [
        "info task one: not checked against its task: tasks/one: is not a task"
    ]


def test_a_run_that_claims_a_million_attempts_is_counted_within_reason(store):
    said = json.loads((store.folder / "run.json").read_text())
    del said["digest"]
    (store.folder / "run.json").write_text(json.dumps(said | {"attempts": 10**9}))
    (line,) = seen(audit.attempts_missing, store.folder)
    assert line.startswith("critical attempts.jsonl: 9998 planned attempts")


def test_every_rule_is_put_to_a_task(facts_of):
    audited = audit_task(facts_of(base={"old.pyc": b"\0"}, fix={}))
    assert (audited.subject, audited.name) == (AuditSubject.TASK, "small")
    assert audited.note == "2 of 2 fail_to_pass functions controlled"
    assert {finding.rule for finding in audited.findings} == {"built-copy-in-base", "no-solution"}


@pytest.mark.parametrize("rule", TASK_RULES.values(), ids=TASK_RULES)
def test_every_rule_says_why_it_matters(rule):
    assert rule.__doc__
    assert rule.__doc__.strip().endswith(".")


def test_the_shipped_tasks_leak_nothing(catalogue, tmp_path):
    mirrors = Mirrors(tmp_path)
    for task in load_tasks([catalogue], mirrors=mirrors).tasks:
        audited = audit_task(read_task_facts(task, mirrors))
        assert audited.findings == (), task.id
        first, _, total = audited.note.split()[:3]
        assert first == total, audited.note
