import json
import re
from pathlib import Path

import pytest

import agentbench
from agentbench.audit.audit import ATTEMPT_RULES, RUN_RULES, TASK_RULES
from agentbench.cli.process_setup import EXIT_CODE_MEANINGS, ExitCode
from agentbench.cli.show import explanation
from agentbench.errors import UsageError
from agentbench.integrity.finding_rules import ChangeRule, ControlRule
from agentbench.integrity.records import Controls
from agentbench.report.taxonomy_page import explain_exit_code, explain_reason
from agentbench.runs.store.configuration import TaskEntry
from agentbench.runs.store.store import RunStore
from agentbench.tasks.control_level import ControlLevel
from agentbench.taxonomy import FailureReason
from tests.runs.records import configuration, failed, resolved


def show(cli, runs_dir, *arguments):
    return cli("show", *arguments, "--runs-dir", runs_dir)


def test_an_attempt_is_shown_with_why_it_ended_so(cli, runs_dir):
    result = show(cli, runs_dir, "last", "one", "2")
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout.startswith("one, attempt 2 of oracle\nfailed: TESTS_FAILED")
    assert result.stdout.endswith(f"files: {next(runs_dir.iterdir())}/attempts/one/2\n")


def test_attempt_is_shown_without_a_cache_for_what_the_agent_did(cli, runs_dir, monkeypatch):
    monkeypatch.setenv("AGENTBENCH_CACHE", "/dev/null/cache")
    result = show(cli, runs_dir, "last", "one")
    assert result.code == 0
    assert result.stdout.startswith("one, attempt 1 of oracle\nresolved")


def test_the_first_attempt_is_the_default(cli, runs_dir):
    assert show(cli, runs_dir, "last", "one").stdout.startswith(
        "one, attempt 1 of oracle\nresolved"
    )


def test_json_is_the_record(cli, runs_dir):
    assert json.loads(show(cli, runs_dir, "last", "one", "--json").stdout)["attempt"] == 1


def test_an_attempt_that_is_not_there_says_which_are(cli, runs_dir):
    for arguments in (("last", "two"), ("last", "one", "3")):
        result = show(cli, runs_dir, *arguments)
        assert (result.code, result.stdout) == (65, "")
        assert "known: one 1, one 2" in result.stderr


def logged(runs_dir, *stages):
    (run,) = runs_dir.iterdir()
    folder = run / "attempts" / "one" / "2" / "stages"
    folder.mkdir(parents=True)
    for stage in stages:
        (folder / f"{stage}.log").write_text("[    0.104 stdout] no \x1b[31mcompiler\x1b[0m\n")


def test_the_log_of_a_stage_is_printed_without_its_escapes(cli, runs_dir):
    logged(runs_dir, "setup")
    result = show(cli, runs_dir, "last", "one", "2", "--log", "setup")
    assert result == (0, "[    0.104 stdout] no compiler\n", "")


def test_a_stage_without_a_log_names_those_that_have_one(cli, runs_dir):
    logged(runs_dir, "setup", "agent_run")
    result = show(cli, runs_dir, "last", "one", "2", "--log", "final_test")
    assert (result.code, result.stdout) == (65, "")
    assert "no log of final_test" in result.stderr
    assert "logs: setup, agent_run" in result.stderr
    assert "logs: none" in show(cli, runs_dir, "last", "one", "--log", "setup").stderr


def test_an_empty_log_of_the_final_test_says_why(cli, tmp_path):
    why = "no final test, since the code gave wrong values in the sealed run"
    store = RunStore.create(tmp_path, configuration())
    record = failed().replace(controls=Controls(level=ControlLevel.FULL, skipped=why))
    folder, _ = store.attempt_folder("one", 1)
    store.append(record, folder)
    (folder / "stages").mkdir()
    (folder / "stages" / "final_test.log").touch()
    result = show(cli, tmp_path, "last", "--log", "final_test")
    assert result == (0, "", f"the log of final_test is empty: {why}\n")


def test_a_run_of_several_tasks_needs_the_task_and_names_failed_ones_first(cli, tmp_path):
    tasks = tuple(TaskEntry(id=name, folder=name, digest="d") for name in ("a", "b"))
    store = RunStore.create(tmp_path, configuration(tasks=tasks))
    for record in (resolved(task_id="a"), failed(task_id="b")):
        store.append(record, store.attempt_folder(record.task_id, 1)[0])
    result = show(cli, tmp_path, "last")
    assert result.code == 2
    assert "TASK is missing" in result.stderr
    assert "failed first: b, a" in result.stderr


def test_an_unknown_stage_and_a_log_as_json_are_usage_errors(cli, runs_dir):
    result = show(cli, runs_dir, "last", "one", "--log", "tests")
    assert result.code == 2
    assert "git_clone" in result.stderr
    result = show(cli, runs_dir, "last", "one", "--log", "setup", "--json")
    assert "--json prints the record" in result.stderr
    assert result.code == 2


def test_without_a_question_all_reasons_are_listed_by_precedence():
    lines = explanation(None, None).partition("\n\n")[0].splitlines()
    assert len(lines) == len(FailureReason)
    assert [int(line.split()[0]) for line in lines] == sorted(r.precedence for r in FailureReason)
    assert {line.split()[1] for line in lines} == set(FailureReason)


@pytest.mark.parametrize("reason", FailureReason)
def test_a_reason_is_found_however_it_is_written(reason):
    expected = explain_reason(reason)
    for text in (reason.value, reason.value.lower(), reason.value.lower().replace("_", "-")):
        assert explanation(text, None) == expected


@pytest.mark.parametrize("code", ["0", "137", "-9", "99999"])
def test_a_number_is_an_exit_code(code):
    assert explanation(code, "setup") == explain_exit_code(int(code), "setup")
    assert explanation(code, None).endswith(explain_exit_code(int(code), None))


@pytest.mark.parametrize("code", ExitCode)
def test_exit_code_of_the_program_is_explained_first(code):
    first, _, of_stages = explanation(str(code.value), None).partition("\n")
    assert first == f"Exit code {code.value} of agentbench itself: {EXIT_CODE_MEANINGS[code]}"
    assert of_stages == explain_exit_code(code.value)
    assert "itself" not in explanation(str(code.value), "setup")


def test_every_rule_of_a_finding_is_explained():
    rules = {"quarantined", "excluded", "weak", "sealed", "blind", "flaky", "valid"}
    rules |= {*TASK_RULES, *RUN_RULES, *ATTEMPT_RULES, *ControlRule, *ChangeRule}
    for file in Path(agentbench.__file__).parent.rglob("*.py"):
        rules |= set(re.findall(r'\brule="([a-z-]+)"|warning: ([a-z-]+): \{', file.read_text()))
    names = {name for rule in rules for name in ([rule] if isinstance(rule, str) else rule) if name}
    assert "gateway-token" in names
    listed = explanation(None, None)
    for name in names:
        assert explanation(name, None).startswith(f"{name.removesuffix('-with-tests')}: ")
        assert name in listed


@pytest.mark.parametrize("what", ["1.5", "123456", "", "tests failed", "\u0663"])
def test_anything_else_is_wrong_usage(what):
    with pytest.raises(UsageError, match="neither an exit code nor a reason"):
        explanation(what, None)
