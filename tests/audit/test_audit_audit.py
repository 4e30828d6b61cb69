import pytest

from agentbench.audit.audit import TASK_RULES, audit_task
from agentbench.audit.rule import AuditSubject
from agentbench.audit.task_facts import read_task_facts
from agentbench.tasks.loading import load_tasks
from agentbench.tasks.mirror import Mirrors


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
