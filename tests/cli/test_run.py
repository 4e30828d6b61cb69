import json
import platform
import shutil

import jsonschema
import pytest

from agentbench.report.json_documents import render_schemas
from agentbench.tasks.loading import load_task
from agentbench.validation.fairness_results import Fairness
from agentbench.validation.stored_proof import write_proof
from tests.fakes.staging import mirrors
from tests.validation.test_stored_proof import PROOF
from tests.validation.test_task_quality import REJECTED

pytestmark = pytest.mark.full


@pytest.fixture
def run(cli, tasks, sandbox, tmp_path):
    def run(*arguments, path=tasks, agent="oracle"):
        chosen = () if {"-a", "--agent-command"} & {*arguments} else ("-a", agent) if agent else ()
        where = ("--sandbox", sandbox, "--runs-dir", tmp_path / "runs")
        return cli("run", path, *where, *chosen, *arguments)

    return run


def test_a_run_prints_its_table_on_stdout_and_all_else_on_stderr(run, sandbox, tmp_path):
    said = run("--run-id", "mine")
    assert said.code == 0, "what agents score is no error"
    words = [line.split()[0] for line in said.stdout.splitlines() if line.strip()]
    assert [word for word in words if word in ("task", "first", "second")] == [
        "task",
        "first",
        "second",
    ]
    # A neighbour's killed run leaves remains, which any run tells of while it removes them.
    lines = [line for line in said.stderr.splitlines() if not line.startswith("removed remains ")]
    first, python, second, *_, last, following = lines
    assert first == f"sandbox: {sandbox} (asked for by name)"
    assert python == f"python: {platform.python_version()} of this machine"
    assert second == "agent: oracle (the reference solution, not an agent)"
    assert last.startswith("resolved 1/2 (50.0 %, 95 % CI 9.5\u201390.5) · 1 TOOL_ERROR · ")
    assert last.endswith(f" · $0.00 · {tmp_path}/runs/mine")
    assert following == f"next: agentbench show {tmp_path}/runs/mine second  # why it failed"
    assert "\x1b" not in said.stdout + said.stderr


@pytest.mark.parametrize("quietly", [(), ("--quiet",)])
def test_json_is_one_document_and_nothing_else(run, quietly):
    said = run("--json", "--filter", "first", *quietly)
    assert said.code == 0, said.stderr
    document = json.loads(said.stdout)
    assert document["results"][0]["summary"]["overall"]["rate"] == 1.0
    (record,) = document["attempts"]
    jsonschema.validate(record, json.loads(render_schemas()["attempt-record.json"]))


def test_a_quiet_run_says_its_last_line_alone(run):
    said = run("--quiet", "--filter", "first")
    assert said.stdout == ""
    (line,) = (line for line in said.stderr.splitlines() if not line.startswith("warning: "))
    assert line.startswith("resolved 1/1")


@pytest.fixture
def unfair(tasks, tmp_path):
    """A copy of both tasks; the proof of the first one says that its tests reject a right fix."""
    copied = shutil.copytree(tasks, tmp_path / "tasks")
    digest = load_task(copied / "first", mirrors=mirrors()).digest
    fairness = Fairness(variants=(REJECTED,))
    write_proof(copied / "first", PROOF.replace(task_digest=digest, fairness=fairness))
    return copied


def test_unfair_tasks_are_excluded_on_demand_and_named(run, unfair, tmp_path):
    result = run("--exclude-unfair", "--run-id", "fair", path=unfair)
    assert result.code == 0, result.stderr
    assert (
        "excluded: 1 unfair task, whose tests reject right fixes: first; "
        "1 of 2 tasks not measured\n" in result.stderr
    )
    entries = json.loads((tmp_path / "runs" / "fair" / "run.json").read_text())["tasks"]
    assert [entry["id"] for entry in entries] == ["second"]
    result = run("--exclude-unfair", "--filter", "first", path=unfair)
    assert result.code == 65
    assert "--exclude-unfair: the tests of every selected task reject right fixes" in result.stderr


def test_proof_of_other_files_excludes_nothing(run, unfair):
    instruction = unfair / "first" / "instruction.md"
    instruction.write_text("Mend it.\n")
    result = run("--exclude-unfair", path=unfair)
    assert "excluded: 0 unfair tasks, whose tests reject right fixes; 2 of 2" in result.stderr
    assert "resolved 1/2" in result.stderr


def test_run_remembers_unfair_tasks_when_their_folder_is_gone(run, cli, unfair, tmp_path):
    result = run("--run-id", "all", "--quiet", path=unfair)
    assert result.stderr.startswith("resolved 1/2"), result.stderr
    shutil.rmtree(unfair)
    where = ("--runs-dir", tmp_path / "runs")
    result = cli("report", "all", "--exclude-unfair", *where)
    assert result.code == 0, result.stderr
    lines = [line.split("  ") for line in result.stdout.splitlines()]
    rows = {cells[0]: [each.strip()[:3] for each in cells[1:] if each] for cells in lines}
    assert rows["oracle"][:3] == ["2", "1/2", "1/2"]
    assert rows["oracle, without unfair tasks"][:3] == ["1", "0/1", "0/1"]
    counts = "tests of 2 tasks: 1 reject right fixes (1 not measured)"
    assert counts in result.stdout
    assert counts in cli("report", "all", *where).stdout
    text = cli("report", "all", "--exclude-unfair", "--format", "markdown", *where).stdout
    assert "| `oracle, without unfair tasks` | 1 | 0/1 " in text
    result = cli("compare", "all", "all", "--exclude-unfair", *where)
    assert "without unfair tasks: 1 " in result.stdout
    assert "Without unfair tasks: 0.0 points" in result.stdout
    text = cli("compare", "all", "all", "--exclude-unfair", "--format", "markdown", *where).stdout
    assert "| `without unfair tasks: 1` | 0/1 " in text


def test_each_attempt_has_a_line_where_there_is_no_terminal(run):
    said = run("--filter", "first", "-k", "2", "-j", "1", "--run-id", "two")
    lines = said.stderr.splitlines()
    assert any(line.startswith("1/2 first resolved ") for line in lines)
    assert any(line.startswith("2/2 first attempt 2 resolved ") for line in lines)
    # The table has a row for each task, since it has several attempts.
    header, row = said.stdout.splitlines()
    assert header.split() == ["task", "resolved", "reasons", "seconds"]
    assert row.split()[:2] == ["first", "2/2"]
    assert lines[-1].startswith("next: agentbench report ")
    assert lines[-1].endswith("/runs/two")


def test_a_rate_below_what_was_asked_is_a_check_that_failed(run):
    said = run("--quiet", "--fail-under", "0.6")
    assert said.code == 1, said.stderr
    assert said.stderr.endswith("the resolved rate 50.0 % is below --fail-under 60 %\n")
    assert run("--quiet", "--fail-under", "0.5").code == 0


def test_attempts_that_were_not_started_are_told(run, tmp_path):
    (tmp_path / "costly.py").write_text(COSTLY)
    said = run("-a", "costly:solve", "--max-cost", "1", "-k", "2", "-j", "1", "--quiet")
    assert said.code == 0, said.stderr
    assert "3 of 4 attempts were not started: --max-cost is spent; continue with: " in said.stderr
    assert "$1.50" in said.stderr


def test_a_run_stops_after_as_many_failures_as_were_asked_for(run, cli, tmp_path):
    said = run("-x", "2", "-k", "2", "-j", "1", "--quiet", "--run-id", "cut", agent="noop")
    assert said.code == 1, said.stderr
    assert said.stderr.splitlines()[-1] == (
        "2 of 4 attempts were not started: 2 attempts failed (--max-failures 2); continue with: "
        f"agentbench resume {tmp_path}/runs/cut"
    )
    resumed = cli("resume", "cut", "--runs-dir", tmp_path / "runs", "--quiet")
    assert resumed.code == 1, "it counts from 0 and stops again"
    assert resumed.stderr.splitlines()[-1] == "2 attempts failed (--max-failures 2)"
    assert "resolved 0/4" in resumed.stderr


def test_fewer_failures_than_were_asked_for_stop_nothing(run):
    said = run("-x", "2", "-j", "1", "--quiet")
    assert said.code == 0, said.stderr
    assert said.stderr.splitlines()[-1].startswith("resolved 1/2 ")


def test_failed_attempts_of_a_run_are_made_again(run, cli, tmp_path):
    assert run("-k", "2", "--quiet", "--run-id", "before").code == 0
    said = cli(
        "run", "--rerun-failed", "last", "--runs-dir", tmp_path / "runs", "--run-id", "again"
    )
    assert said.code == 0, said.stderr
    assert "rerun of before: 2 attempts that it did not resolve\n" in said.stderr
    assert "resolved 0/2 " in said.stderr
    again = json.loads((tmp_path / "runs/again/run.json").read_text())
    assert (again["agent"], again["rerun_of"]) == ("oracle", "before")
    assert [(task["id"], task["attempts"]) for task in again["tasks"]] == [("second", [1, 2])]
    only_hard = "again repeats only attempts that before did not resolve; do not compare its"
    for command in (("report", "again"), ("compare", "before", "again")):
        assert only_hard in cli(*command, "--runs-dir", tmp_path / "runs").stderr
    assert "repeats" not in cli("report", "before", "--runs-dir", tmp_path / "runs").stderr


COSTLY = """
from agentbench.agents.interface import AgentOutcome, ModelUsage
from agentbench.scoring.evidence import AgentEnding

def solve(problem, sandbox, budget, model):
    return AgentOutcome(ending=AgentEnding.SUBMITTED, usage=ModelUsage(cost_usd=1.5))
"""


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """Agents are found in the folder that the program is called in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_command_needs_no_agent(run, tmp_path):
    fix = "printf 'def f():\n    return 2\n' > code.py"
    said = run("--agent-command", fix, "--run-id", "x", "--allow-unsandboxed", "--filter", "first")
    assert said.code == 0, said.stderr
    assert json.loads((tmp_path / "runs/x/run.json").read_text())["agent"] == "command"


def test_a_run_that_exists_is_not_overwritten(run):
    assert run("--run-id", "x", "--quiet", "--filter", "first").code == 0
    said = run("--run-id", "x", "--quiet", "--filter", "first")
    assert said.code == 2, said.stderr
    assert "already exists" in said.stderr


def test_a_folder_that_cannot_be_written_is_wrong_usage(cli, tasks, sandbox, tmp_path):
    (tmp_path / "file").write_text("")
    said = cli("run", tasks, "-a", "oracle", "--sandbox", sandbox, "--runs-dir", tmp_path / "file")
    assert said.code == 2, said.stderr
    assert said.stderr.endswith("choose another --runs-dir\n")


def test_a_cache_that_cannot_be_written_is_wrong_usage(run, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AGENTBENCH_CACHE", str(tmp_path / "file"))
    said = run()
    assert said.code == 2, said.stderr
    assert "set AGENTBENCH_CACHE" in said.stderr


def test_an_engine_that_does_not_answer_is_69(program, tasks):
    said = program("run", tasks, "--agent", "oracle", "--sandbox", "docker")
    assert said.code == 69, said.stderr
    assert said.stdout == ""
    assert said.stderr.startswith("agentbench: ")
    assert "Traceback" not in said.stderr


def test_an_infrastructure_failure_is_75(run, tmp_path):
    (tmp_path / "down.py").write_text(DOWN)
    said = run("-a", "down:solve", "--retries", "0", "--filter", "first")
    assert said.code == 75, said.stderr
    assert "1 LLM_ERROR" in said.stderr


DOWN = """
from agentbench.errors import LLMError

def solve(problem, sandbox, budget, model):
    raise LLMError("429 for ever")
"""


def test_a_seed_shuffles_and_is_recorded(run, tmp_path):
    run("--shuffle", "7", "--run-id", "shuffled", "--quiet", "--filter", "first")
    kept = json.loads((tmp_path / "runs" / "shuffled" / "run.json").read_text())
    assert kept["shuffle_seed"] == 7


def test_a_command_that_does_not_exist_is_found_before_the_first_attempt(run, tmp_path):
    said = run("-a", "command", "--agent-command", "my-agent {instruction}", "--allow-unsandboxed")
    assert said.code == 2, said.stderr
    last = said.stderr.splitlines()[-1]
    assert last.startswith("agentbench: Agent command not found: my-agent; it must be in ")
    assert not (tmp_path / "runs").exists()


BROKEN = """
class Mine:
    def solve(self, problem, sandbox, budget, model):
        sandbox.listen("ls")
"""


def test_an_agent_that_breaks_every_time_looks_broken(run, cli, tmp_path):
    (tmp_path / "broken.py").write_text(BROKEN)
    said = run("-a", "broken:Mine", "--run-id", "mine")
    assert said.code == 0, said.stderr
    error = "AttributeError: 'BoundedSandbox' object has no attribute 'listen' (broken.py, line 4)"
    assert said.stderr.splitlines()[-1] == (
        f"All 2 attempts ended in the same agent error: {error}"
    )
    assert "2 UNKNOWN" in said.stderr
    log = (tmp_path / "runs/mine/attempts/first/1/stages/agent_run.log").read_text()
    assert 'broken.py", line 4, in solve' in log
    shown = cli("show", "mine", "first", "--runs-dir", tmp_path / "runs").stdout
    assert shown.splitlines()[1] == "failed: UNKNOWN (fault: agent)"
    assert error in shown
    assert 'broken.py", line 4, in solve' in shown
