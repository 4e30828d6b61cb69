from pathlib import Path

import pytest
from hypothesis import given

from agentbench.attempt.record import (
    AgentRecord,
    PatchRecord,
    StageRecord,
    UsageRecord,
)
from agentbench.core.display_text import printable
from agentbench.integrity.records import ControlKind, Controls, DroppedPath
from agentbench.integrity.tool_caches import ToolCache
from agentbench.report.attempt_columns import verdict_word
from agentbench.report.attempt_text import render_attempt
from agentbench.scoring.evidence import AgentEnding, Ending, Evidence, Finding, Severity
from agentbench.scoring.verdict import CaseChange
from agentbench.tasks.control_level import ControlLevel
from tests.runs.records import (
    ENVIRONMENT,
    controls_of,
    crashed,
    failed,
    in_steps,
    lost,
    records,
    resolved,
)
from tests.scoring.strategies import NOON


def test_steps_of_a_task_are_told_in_their_order(tmp_path):
    lines = render_attempt(in_steps(), tmp_path).splitlines()
    start = lines.index("steps")
    assert lines[start + 1 : start + 4] == [
        "  split: reward 1, style 0.5; agent 0.0 s, verifier 0.0 s",
        "  sum: reward 0.25; too low for the next step: reward 0.25 is below 1; "
        "agent: time_limit (an odd <day>); agent 61.5 s, verifier 0.0 s",
        "  print: not run",
    ]


def test_the_shares_of_the_tests_to_fix_are_shown_by_kind(tmp_path):
    controls = controls_of(*[ControlKind.SEALED] * 3, ControlKind.BLIND)
    lines = render_attempt(resolved(controls=controls), tmp_path).splitlines()
    assert "  tests to fix: 3 sealed (75.0 %), 1 blind (25.0 %)" in lines


def test_skipped_control_runs_are_named_with_the_reason(tmp_path):
    controls = Controls(level=ControlLevel.FULL, skipped="the final test did not pass")
    lines = render_attempt(failed(controls=controls), tmp_path).splitlines()
    assert "control runs (full) skipped: the final test did not pass" in lines


def test_a_quarantined_attempt_is_called_so():
    assert verdict_word(failed(quarantined=True)) == "quarantined"
    assert verdict_word(failed()) == "failed"
    assert verdict_word(resolved()) == "resolved"


NOWHERE = Path("nowhere")


def page(record, folder=NOWHERE):
    return render_attempt(record, folder).splitlines()


def stage(name="setup", **more):
    return StageRecord(
        name=name, started_at=NOON, duration_s=1.5, **{"evidence": Evidence(), **more}
    )


def patch(**more):
    given = {"path": "patch.diff", "sha256": "0", "files": 1, "insertions": 2, "deletions": 3}
    return PatchRecord(**{**given, **more})


def test_an_agent_that_crashed_is_told_with_its_traceback():
    lines = page(crashed())
    result = "ZeroDivisionError: an odd <day> (mine.py, line 7)"
    assert lines[1] == "failed: UNKNOWN (fault: agent)"
    assert lines[lines.index("why it failed") + 1] == f"  The agent raised an error: {result}."
    why = lines.index("Failure candidates, highest priority first")
    assert lines[why + 1] == f"  15 UNKNOWN in agent_run: {result}"
    assert lines[why + 2].startswith("   - TESTS_FAILED in final_test: ")
    assert lines[why + 2].endswith(" (a consequence, not a candidate)")
    begin = lines.index("traceback of agent_run")
    assert lines[begin + 1 : begin + 3] == [
        '  File "mine.py", line 7, in solve',
        "  ZeroDivisionError: an odd <day>",
    ]


def test_a_resolved_attempt_needs_no_reason():
    lines = page(resolved(task_id="t", attempt=2, agent="me"))
    assert lines[:2] == ["t, attempt 2 of me", "resolved"]
    assert not [line for line in lines if line.startswith("why:")]
    assert lines[-1] == "files: nowhere"


@pytest.mark.parametrize(
    ("known", "line"),
    [
        ({"python": "3.11.2"}, "ran with Python 3.11.2, sandbox process"),
        ({"image_name": "own:1"}, "ran with Python unknown of own:1, sandbox process"),
        (
            {"python": "3.9.2", "image_name": "agentbench/python:3.9"},
            "ran with Python 3.9.2 of agentbench/python:3.9, sandbox process",
        ),
        ({}, "ran with Python unknown, sandbox process"),
    ],
)
def test_the_python_and_its_image_are_named(known, line):
    assert page(resolved(environment=ENVIRONMENT.replace(**known)))[2] == line


def test_a_failed_attempt_says_why_in_words():
    lines = page(lost())
    assert lines[1] == "failed: SANDBOX_ERROR (fault: infrastructure)"
    result = "  The sandbox failed during setup: the engine went away."
    assert lines[lines.index("why it failed") + 1] == result
    why = lines.index("Failure candidates, highest priority first")
    assert "SANDBOX_ERROR in setup: " in lines[why + 1]


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({"ending": Ending.EXITED, "exit_code": 0}, "exited 0"),
        ({"ending": Ending.EXITED, "exit_code": 0, "cached": True}, "exited 0 (cached)"),
        ({"ending": Ending.KILLED, "signal": 9}, "killed by signal 9"),
        ({"ending": Ending.TIMED_OUT}, "timed_out"),
        ({}, "nothing to do"),
        ({"evidence": Evidence(agent=AgentEnding.STEP_LIMIT)}, "step_limit"),
    ],
)
def test_a_stage_says_how_it_ended(more, shown):
    line = next(line for line in page(resolved(stages=(stage(**more),))) if "setup  " in line)
    assert line == f"  setup            1.50 s  {shown}"


def test_an_agent_says_how_it_stopped():
    agent = AgentRecord(ending=AgentEnding.TOOL_ERROR, detail="exited 1\n", steps=2, tool_calls=3)
    assert "agent: tool_error, 2 steps, 3 tool calls: exited 1\\u000a" in page(
        failed(agent_run=agent)
    )


def cases(count):
    return tuple(
        CaseChange(node_id=f"t.py::{number}", listed=None, baseline="passed", final="failed")
        for number in range(count)
    )


def test_only_tests_that_tell_something_are_listed():
    passed = CaseChange(node_id="t.py::ok", listed=None, baseline="passed", final="passed")
    new = CaseChange(node_id="t.py::new", listed="fail_to_pass", baseline=None, final="passed")
    gone = CaseChange(node_id="t.py::gone", listed="fail_to_pass", baseline="error", final=None)
    lines = page(resolved(tests=(passed, new, gone)))
    assert "  t.py::new: absent -> passed" in lines
    assert "  t.py::gone: error -> absent" in lines
    assert not [line for line in lines if "t.py::ok" in line]


def test_a_long_list_of_tests_is_cut_and_counted():
    lines = page(failed(tests=cases(43)))
    assert "  t.py::39: passed -> failed" in lines
    assert "  … and 3 more" in lines
    assert not [line for line in page(failed(tests=cases(40))) if "… and" in line]


def test_findings_and_warnings_are_shown():
    finding = Finding(rule="r", severity=Severity.CRITICAL, where="a\x1b[2J.py", what="changed")
    lines = page(failed(findings=(finding,), warnings=("w\n",)))
    assert "finding (critical) r at a.py: changed" in lines
    assert "warning: w\\u000a" in lines


def test_the_patch_is_shown_with_tabs_and_without_escapes(tmp_path):
    (tmp_path / "patch.diff").write_bytes(b"+\tmake\n-\x1b[31mred\n+\xff\n")
    dropped = DroppedPath(path="conf\x1b[1mtest.py", why="pro\x1b[2Jtected")
    lines = page(failed(patch=patch(dropped=(dropped,))), tmp_path)
    start = lines.index("patch: 1 file, +2 -3")
    assert lines[start + 1 : start + 5] == [
        "  not judged: conftest.py: protected",
        "  +\tmake",
        "  -red",
        "  +\ufffd",
    ]


def test_caches_of_tools_are_told_apart_from_the_patch():
    caches = (
        ToolCache(path=".pytest_cache", files=3, size=1024),
        ToolCache(path="a\x1b[1mb/__pycache__", files=1, size=512),
    )
    lines = page(failed(patch=patch(tool_caches=caches)))
    start = lines.index("patch: 1 file, +2 -3")
    result = "  tool caches, not counted: 4 files, 1.5 KiB: .pytest_cache, ab/__pycache__"
    assert lines[start + 1] == result


def test_a_long_patch_is_cut_and_says_where_the_rest_is(tmp_path):
    (tmp_path / "patch.diff").write_text("+x\n" * 203)
    lines = page(failed(patch=patch()), tmp_path)
    assert lines.count("  +x") == 200
    assert f"  … 3 more lines in {tmp_path}/patch.diff" in lines


def test_a_patch_whose_file_is_gone_is_still_counted():
    assert "patch: 1 file, +2 -3" in page(failed(patch=patch()))


@given(records())
def test_the_page_of_any_record_is_harmless(record):
    text = render_attempt(record, NOWHERE)
    assert printable(text, newlines=True) == text


@pytest.mark.parametrize(("cost", "shown"), [(None, "price unknown"), (0.25, "$0.2500")])
def test_what_the_model_cost_is_told_also_when_nobody_knows(cost, shown):
    usage = UsageRecord(
        requests=3, input_tokens=9, output_tokens=2, cost_usd=cost, llm_errors={"rate_limit": 2}
    )
    lines = page(resolved(model="some/model", usage=usage))
    assert f"model: some/model, 3 requests, 9 tokens in (0 cached), 2 out, {shown}" in lines
    assert "  not answered: rate_limit x2" in lines
