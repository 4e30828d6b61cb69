import json

import pytest

from agentbench.audit.audit import ATTEMPT_RULES, RUN_RULES, audit_run
from agentbench.audit.rule import AuditSubject
from agentbench.audit.run_facts import open_run
from agentbench.tasks.mirror import Mirrors
from tests.audit.conftest import edit_record


def audited(folder, **more):
    return list(audit_run(open_run(folder), Mirrors(folder.parent / "mirrors"), **more))


def test_a_run_is_audited_as_a_whole_and_by_attempts(run_folder):
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


def test_attempts_are_chosen_by_their_task(run_folder):
    assert len(audited(run_folder, glob="other")) == 1
    assert len(audited(run_folder, glob="sm*")) == 2


@pytest.mark.parametrize("folder", ["/nowhere", "a\0b", "", "x" * 5000])
def test_a_task_that_is_not_here_any_more_is_told_of(run_folder, folder):
    said = json.loads((run_folder / "run.json").read_text())
    del said["digest"]
    said["tasks"][0]["folder"] = folder
    (run_folder / "run.json").write_text(json.dumps(said))
    run, _ = audited(run_folder)
    (finding,) = run.findings
    assert (finding.rule, finding.severity.value) == ("task-not-here", "info")


@pytest.mark.parametrize("task_id", ["../../..", "a\0b", "/etc", "x" * 5000, "\x1b[31m"])
def test_a_task_id_that_is_a_path_leads_nowhere(run_folder, task_id):
    edit_record(run_folder, lambda record: record.update(task_id=task_id))
    rules = {finding.rule for one in audited(run_folder) for finding in one.findings}
    assert {"records-disagree", "record-of-another-run", "files-disagree"} <= rules


@pytest.mark.parametrize("rule", [*RUN_RULES.values(), *ATTEMPT_RULES.values()])
def test_every_rule_says_why_it_matters(rule):
    assert rule.__doc__
    assert rule.__doc__.strip().endswith(".")
