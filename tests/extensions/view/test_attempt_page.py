import json
import re
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given

from agentbench.attempt.record import AgentRecord, PatchRecord, StageRecord
from agentbench.core.extensions import Slot, offers
from agentbench.extensions.view.attempt_page import (
    ReasonStatus,
    explain_decision,
    reason_candidates,
    reasons_without_evidence,
)
from agentbench.integrity.records import (
    ChangedExpectation,
    ControlledTest,
    ControlRun,
    Controls,
    DroppedPath,
    ValueKind,
    WeakControl,
)
from agentbench.integrity.tool_caches import ToolCache
from agentbench.runs.store.configuration import TaskEntry, TaskQuality
from agentbench.runs.store.store import RunStore
from agentbench.scoring.evidence import AgentEnding, Ending, Evidence, Finding, Severity
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.loading import read_draft
from agentbench.tasks.mirror import tree_digest
from agentbench.taxonomy import FailureReason, StageName
from agentbench.validation.fairness_results import Fairness
from agentbench.validation.stored_proof import write_proof
from tests.e2e.small_task import SmallTask
from tests.extensions.view.conftest import client_of
from tests.extensions.view.pages import Parsed
from tests.runs.records import (
    configuration,
    crashed,
    failed,
    in_steps,
    lost,
    record_of,
    records,
    resolved,
)
from tests.scoring import strategies
from tests.validation.test_stored_proof import PROOF
from tests.validation.test_task_quality import ACCEPTED, REJECTED


def page_of(tmp_path, record, **files):
    store = RunStore.create(tmp_path, configuration())
    folder, _ = store.attempt_folder(record.task_id, record.attempt)
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / (name if "." in name else name.replace("_", "."))).write_text(text)
    store.append(record, folder)
    return client_of(tmp_path).get(f"/runs/{store.folder.name}/attempts/one/1").text


def timeline_of(states):
    """A timeline.json of which every second state is solved, beginning with the first."""
    return json.dumps(
        {
            "noted": [
                {"at": (strategies.NOON + timedelta(seconds=10 * n)).isoformat(), "state": str(n)}
                for n in range(states)
            ],
            "judged": [
                {"state": str(n), "resolved": n % 2 == 0, "passed": ["t.py::fix"] * (n % 2 == 0)}
                for n in range(states)
            ],
        }
    )


def test_a_failed_attempt_is_told_with_the_decision(client, shown):
    text = client.get(shown.address(lambda told: told.failure_reason is FailureReason.TIMEOUT)).text
    assert "<strong>TIMEOUT</strong>" in text
    assert 'class="badge decided"' in text
    assert 'class="badge outranked"' in text
    assert "TIMEOUT has a higher priority" in text
    assert "The other" in text
    for heading in ("Decision", "Stages", "Tests", "Patch", "Transcript", "Logs", "Files"):
        assert f">{heading}</h2>" in text


def test_the_cause_comes_before_the_stages_and_details_are_folded(client, shown):
    text = client.get(shown.address(lambda told: told.failure_reason is FailureReason.TIMEOUT)).text
    parts = ("cause", "tests", "patch", "stages", "decision", "transcript", "logs")
    places = [text.index(f'<section id="{part}"') for part in parts]
    assert places == sorted(places)
    assert "<details" in text
    # Of the folds only a short patch is open.
    assert re.findall(r"<details[^>]* open>", text) in ([], ['<details id="patch-text" open>'])
    paged = client.get(f"{shown.address()}?steps-page=1").text
    assert '<details id="transcript-steps" open>' in paged


def test_unfair_tests_are_named_beside_the_verdict_with_evidence(tmp_path):
    entry = TaskEntry(id="one", folder=str(tmp_path / "task"), digest="d")
    (tmp_path / "task").mkdir()
    bad = REJECTED.replace(assertion="<b>assert 1 == 2</b>")
    write_proof(tmp_path / "task", PROOF.replace(fairness=Fairness(variants=(bad, ACCEPTED))))
    store = RunStore.create(tmp_path / "runs", configuration(tasks=(entry,)))
    record = failed()
    store.append(record, store.attempt_folder(record.task_id, record.attempt)[0])
    address = f"/runs/{store.folder.name}/attempts/one/1"
    text = client_of(tmp_path / "runs").get(address).text
    Parsed(text)
    notice = text.index("The tests of this task are known to reject right fixes")
    assert text.index('<p class="verdict">') < notice < text.index('id="stages"')
    assert "1 of 2 right variants rejected" in text
    assert "<code>&lt;b&gt;assert 1 == 2&lt;/b&gt;</code>" in text
    assert "not measured: validate --strength does" in text

    write_proof(tmp_path / "task", PROOF.replace(task_digest="other"))
    text = client_of(tmp_path / "runs").get(address).text
    assert "reject right fixes" not in text
    assert 'id="task-tests"' not in text


def test_run_knows_unfair_tests_without_the_folder_of_the_task(tmp_path):
    quality = TaskQuality(rejects_right_fixes=True)
    entry = TaskEntry(id="one", folder="/nowhere", digest="d", quality=quality)
    store = RunStore.create(tmp_path, configuration(tasks=(entry,)))
    record = failed()
    store.append(record, store.attempt_folder(record.task_id, record.attempt)[0])
    text = client_of(tmp_path).get(f"/runs/{store.folder.name}/attempts/one/1").text
    assert "The tests of this task are known to reject right fixes.</p>" in text


def test_headings_come_in_order(client, shown):
    levels = [int(level) for level in re.findall(r"<h(\d)", client.get(shown.address()).text)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_steps_of_a_task_are_in_one_table(tmp_path):
    text = page_of(tmp_path, in_steps())
    table = text[text.index('id="task-steps"') : text.index('id="decision"')]
    assert "reward 1, style 0.5" in table
    assert "reward 0.25; too low for the next step: reward 0.25 is below 1" in table
    assert "time limit: an odd &lt;day&gt;" in table
    assert "not run" in table
    assert '/attempts/one/1/files/steps/sum/evidence.json">' in table
    assert 'id="task-steps"' not in page_of(tmp_path / "other", failed())


def test_the_evidence_of_a_step_can_be_downloaded_and_nothing_near_it(tmp_path):
    store = RunStore.create(tmp_path, configuration())
    folder, _ = store.attempt_folder("one", 1)
    (folder / "steps" / "sum").mkdir(parents=True)
    (folder / "steps" / "sum" / "evidence.json").write_text("{}")
    (folder / "steps" / "evidence.json").write_text("{}")
    store.append(in_steps(), folder)
    address = f"/runs/{store.folder.name}/attempts/one/1/files/steps"
    client = client_of(tmp_path)
    assert client.get(f"{address}/sum/evidence.json").text == "{}"
    for other in ("evidence.json", "..%2f/evidence.json", "sum/other.json", "two/evidence.json"):
        assert client.get(f"{address}/{other}").status_code == 404


def test_stages_are_told_with_times_and_exit(tmp_path):
    text = page_of(tmp_path, failed())
    for stage in StageName:
        assert stage.replace("_", " ") in text
    assert text.count("exited") > 3


def test_a_stage_that_raised_is_told_with_what_it_raised(tmp_path):
    assert "the engine went away" in page_of(tmp_path, lost())


def test_an_agent_that_crashed_is_told_with_its_traceback(tmp_path):
    text = page_of(tmp_path, crashed(), **{"stages/agent_run.log": "Traceback"})
    assert "ZeroDivisionError: an odd &lt;day&gt; (mine.py, line 7)" in text
    assert "in solve\nZeroDivisionError: an odd &lt;day&gt;</pre>" in text
    assert "a consequence: the agent had crashed" in text
    assert "UNKNOWN is the only reason that ended the attempt." in text
    cause = text[text.index('id="cause"') : text.index('id="stages"')]
    assert (
        "The agent raised an error: ZeroDivisionError: an odd &lt;day&gt; (mine.py, line 7)."
        in cause
    )
    assert "<dt>last output</dt><dd><code>Traceback</code></dd>" in cause


def test_a_stage_that_a_signal_ended_says_which(tmp_path):
    killed = strategies.command(None, Ending.KILLED, signal=9)
    stage = StageRecord(
        name=StageName.SETUP,
        started_at=strategies.NOON,
        duration_s=timedelta(seconds=1).total_seconds(),
        ending=Ending.KILLED,
        signal=9,
        evidence=Evidence(command=killed),
    )
    assert "signal 9" in page_of(tmp_path, lost(stages=(stage,)))


def test_tests_are_filtered_by_the_address(client, shown):
    address = shown.address(lambda told: told.resolved)
    usual, every = (client.get(f"{address}{query}").text for query in ("", "?tests=all"))
    count = 'class="node"'
    assert 'aria-current="true">changed' in usual
    assert 0 < usual.count(count) < every.count(count)
    assert client.get(f"{address}?tests=nothing").status_code == 400
    assert client.get(f"{address}?tests=all&tests-page=x").status_code == 400


def test_findings_controls_and_what_was_dropped_are_told(tmp_path):
    tests = (
        ControlledTest(node_id=strategies.A, must="fail", outcome="passed"),
        ControlledTest(node_id=strategies.B, must="pass", outcome="passed"),
    )
    drawn = ChangedExpectation(
        file="tests/test_it.py", function="test_a", line=3, kind=ValueKind(next(iter(ValueKind))),
        original="1", replacement="2",
    )  # fmt: skip
    controls = Controls(
        level=ControlLevel.FULL,
        seed=7,
        runs=(ControlRun(half=1, tries=2, ending=Ending.EXITED, drawn=(drawn,), tests=tests),),
        weakly_controlled=(WeakControl(file="t.py", function="test_w", reason="no value"),),
    )
    patch = PatchRecord(
        path="../../../secret", sha256="0", files=1, insertions=1, deletions=2,
        dropped=(DroppedPath(path="conftest.py", why="protected"),),
        tool_caches=(ToolCache(path=".mypy_cache", files=2, size=2048),),
    )  # fmt: skip
    record = resolved(controls=controls, patch=patch, warnings=("odd <i>thing</i>",))
    (tmp_path / "secret").write_text("nobody reads this")
    text = page_of(tmp_path, record, patch_diff="+mended <b>\n-broken\n")
    assert "0 of 1 changed tests failed, 1 of 1 others passed" in text
    assert "repeated 1 time</p>" in text
    assert "t.py::test_w" in text
    assert "<code>conftest.py</code>: protected" in text
    assert "<code>.mypy_cache</code>: 2 files, 2.0 KiB" in text
    assert "odd &lt;i&gt;thing&lt;/i&gt;" in text
    assert '<span class="hl-gi">+mended &lt;b&gt;' in text
    assert "nobody reads this" not in text


def test_a_timeline_is_a_table_of_tests_and_states(tmp_path):
    text = page_of(tmp_path, failed(), **{"timeline.json": timeline_of(3)})
    section = text[text.index('<section id="timeline"') : text.index('<section id="tests"')]
    rows = Parsed(section).rows
    assert [row[1:] for row in rows if len(row) > 1] == [
        ["state 10 sfirst solved", "state 210.0 slost again", "state 320.0 s"],
        ["✓passed", "✗failed", "✓passed"],
        ["✗failed", "✗failed", "✗failed"],  # the record's own test to fix
        ["✓passed", "✗failed", "✓passed"],
        ["1 of 1", "1 of 1", "1 of 1"],
    ]
    assert 'href="#timeline"' in text
    assert 'files/timeline.json">' in text


@pytest.mark.parametrize("damaged", ["{", '{"noted": []}', timeline_of(401)])
def test_a_timeline_that_cannot_be_shown_is_left_out(tmp_path, damaged):
    text = page_of(tmp_path, failed(), **{"timeline.json": damaged})
    assert '<section id="timeline"' not in text
    assert 'href="#timeline"' not in text
    assert ">Stages</h2>" in text


def test_an_attempt_whose_files_are_gone_is_told_by_its_record(tmp_path):
    store = RunStore.create(tmp_path, configuration())
    folder, _ = store.attempt_folder(resolved().task_id, 1)
    store.append(resolved(), folder)
    (folder / "record.json").unlink()
    folder.rmdir()
    text = client_of(tmp_path).get(f"/runs/{store.folder.name}/attempts/one/1").text
    assert 'class="badge resolved"' in text
    assert "The attempt left no files here" in text


def test_a_transcript_comes_with_its_calls_folded(client, shown):
    text = client.get(shown.address()).text
    assert '<details class="call"><summary>' in text
    assert 'id="step-1"' in text


def test_parts_of_an_attempt_are_those_of_its_page(client, shown):
    address = shown.address()
    parts = client.get(f"{address}/parts").text
    assert "<html" not in parts
    assert 'data-live="no"' in parts
    assert parts.strip() in client.get(address).text


def test_a_late_agent_whose_tests_fail_is_told_with_both_reasons():
    final = strategies.ran(strategies.case(strategies.A, "failed"), strategies.case(strategies.B))
    late = Evidence(agent=AgentEnding.TIME_LIMIT)
    record = record_of(strategies.attempt(final, agent_run=late))
    first, second = reason_candidates(record)
    assert (first.failure.reason, first.status) == (FailureReason.TIMEOUT, ReasonStatus.DECIDED)
    assert (second.failure.reason, second.status) == (
        FailureReason.TESTS_FAILED,
        ReasonStatus.OUTRANKED,
    )
    assert second.why == "TIMEOUT has a higher priority"
    assert strategies.A in second.failure.detail or "test" in second.failure.detail
    assert "TIMEOUT has the lowest precedence number (9)" in explain_decision(record)
    assert "TESTS_FAILED (11)" in explain_decision(record)


def test_a_reason_alone_is_told_as_such():
    record = failed()
    assert explain_decision(record).startswith("TESTS_FAILED is the only reason")
    assert [each.status for each in reason_candidates(record)] == [ReasonStatus.DECIDED]


def test_a_resolved_attempt_has_nothing_to_weigh():
    record = resolved()
    assert reason_candidates(record) == []
    assert "passed" in explain_decision(record)
    assert len(reasons_without_evidence(record)) == len(FailureReason)


def test_a_quarantined_attempt_is_told_why():
    cheat = Finding(rule="peeked", severity=Severity.CRITICAL, where="agent", what="read the key")
    passed = strategies.ran(strategies.case(strategies.A), strategies.case(strategies.B))
    agent = Evidence(agent=AgentEnding.SUBMITTED, findings=(cheat,))
    record = record_of(strategies.attempt(passed, agent_run=agent))
    assert record.quarantined
    assert explain_decision(record) == (
        "Quarantined: peeked at agent: read the key. The final test passed, but does not count."
    )


@given(records())
def test_exactly_one_reason_decides_wherever_there_is_one(record):
    told = reason_candidates(record)
    decided = [each for each in told if each.status is ReasonStatus.DECIDED]
    assert [each.failure.reason for each in decided] == (
        [record.failure_reason] if record.failure_reason else []
    )
    assert len(told) == len(record.failures)
    reasons = {each.failure.reason for each in told}
    assert reasons | set(reasons_without_evidence(record)) == set(FailureReason)
    assert explain_decision(record)


def test_page_tells_what_the_agent_did_if_that_is_known(tmp_path):
    record = failed(attempt=1).replace(
        agent="command", agent_run=AgentRecord(ending=AgentEnding.STEP_LIMIT), task_id="one"
    )
    text = page_of(tmp_path, record)
    story = text.partition("What the agent did</h2>")[2].partition("</section>")[0]
    known = "step limit" in story
    assert known is ("behaviour" in offers(Slot.COMMAND))


def test_page_has_the_command_the_bug_report_and_the_neighbours(tmp_path):
    folder = tmp_path / "catalogue" / "one"
    folder.mkdir(parents=True)
    SmallTask(agent="timeout_s = 60").write(folder)
    digest = tree_digest(folder, without={"proof.json"})
    tasks = (TaskEntry(id="one", folder=str(folder), digest=digest),)
    settings = {"agent": "command", "agent_command": "./fix.sh <b>", "attempts": 3}
    store = RunStore.create(tmp_path / "runs", configuration(tasks=tasks, **settings))
    for number in (1, 2, 3):
        record = failed(attempt=number, task_digest=digest)
        store.append(record, store.attempt_folder("one", number)[0])
    client = client_of(tmp_path / "runs")
    run = f"/runs/{store.folder.name}"
    text = client.get(f"{run}/attempts/one/2").text
    title = read_draft(folder).table.title
    assert title in text
    assert "Bug report" in text
    for page in (text, client.get(run).text):
        assert "<code>./fix.sh &lt;b&gt;</code>" in page
    links = dict(re.findall(r'<a rel="(prev|next)" href="([^"]+)"', text))
    assert links == {"prev": f"{run}/attempts/one/1", "next": f"{run}/attempts/one/3"}
    # The tests and the patch come before the stages and their evidence.
    assert text.index('id="tests"') < text.index('id="stages"')
    (folder / "instruction.md").write_text("Another report.")
    assert "Bug report" not in client.get(f"{run}/attempts/one/2").text
