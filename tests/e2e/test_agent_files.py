"""A program of one's own as the agent, in each sandbox."""

import json

import pytest

from tests.e2e.program import records_of, run_program
from tests.e2e.small_task import FIX, SmallTask

SANDBOXES = ("bubblewrap", "process", pytest.param("docker", marks=pytest.mark.docker))


@pytest.fixture(params=SANDBOXES)
def agentbench(request, environ, tmp_path):
    """Runs `agentbench` in a folder with the script of an agent and the folder of another one."""
    if request.param != "process":
        request.getfixturevalue(request.param)
    folder = tmp_path / "mine"
    (folder / "agent").mkdir(parents=True)
    SmallTask().write(tmp_path / "tasks" / "small")
    for path, text in (
        (folder / "fix.sh", f"#!/bin/sh\n{FIX}\n"),
        (folder / "agent" / "run.sh", "#!/bin/sh\nexec helper\n"),
        (folder / "agent" / "helper", f"#!/bin/sh\n{FIX}\n"),
    ):
        path.write_text(text)
        path.chmod(0o700)  # a sandbox has another user
    fixed = "print(open('basket.py').read().replace('prices[1:]', 'prices'))"
    (folder / "agent.py").write_text(f"text = {fixed[6:-1]}\nopen('basket.py', 'w').write(text)\n")

    def run(*arguments, tasks=(tmp_path / "tasks",), cwd=folder):
        where = ("--sandbox", request.param, "--runs-dir", tmp_path / "runs")
        if arguments[0] != "resume":
            arguments = ("run", *tasks, *arguments, *where, "--allow-unsandboxed")
        return run_program(*arguments, env=environ, cwd=cwd)

    run.folder, run.runs, run.sandbox = folder, tmp_path / "runs", request.param
    return run


def resolved(runs, name):
    return [record.resolved for record in records_of(runs / name)]


@pytest.mark.parametrize(
    "line",
    [
        ("./fix.sh",),
        ("cd . && sh ./fix.sh",),
        ("fix.sh", "--agent-files", "fix.sh"),
        ("./agent/run.sh", "--agent-files", "./agent"),
        ("run.sh", "--agent-files", "agent"),
        ("python agent.py",),
    ],
    ids=" ".join,
)
def test_a_program_of_ones_own_is_the_agent(agentbench, line):
    said = agentbench("--agent-command", *line, "--run-id", "own")
    assert said.returncode == 0, said.stderr
    assert resolved(agentbench.runs, "own") == [True]
    (record,) = records_of(agentbench.runs / "own")
    (agent_run,) = (stage for stage in record.stages if stage.name == "agent_run")
    assert agent_run.evidence.command.argv == ("sh", "-c", line[0])
    assert ("using" in said.stderr) == (len(line) == 1)


def test_a_resumed_run_and_a_rerun_have_the_same_files(agentbench, tmp_path):
    script, run = agentbench.folder / "fix.sh", agentbench.runs / "own"
    works = script.read_text()
    script.write_text("#!/bin/sh\n")
    said = agentbench("--agent-command", "./fix.sh", "--run-id", "own", "-k", "2", "-j", "1", "-x1")
    assert said.returncode == 1, said.stderr
    assert json.loads((run / "run.json").read_text())["agent_files"] == [str(script)]
    script.write_text(works)
    resumed = agentbench("resume", run, cwd=tmp_path)
    assert resolved(agentbench.runs, "own") == [False, True], resumed.stderr
    again = agentbench("--rerun-failed", run, "--run-id", "again", tasks=(), cwd=tmp_path)
    assert resolved(agentbench.runs, "again") == [True], again.stderr
    script.rename(agentbench.folder / "moved.sh")
    gone = agentbench("resume", run, cwd=tmp_path)
    assert gone.returncode == 2
    assert f"found nothing at {script}" in gone.stderr


def test_the_files_are_read_only(agentbench):
    if agentbench.sandbox == "process":
        pytest.skip("process cannot write-protect files")
    line = "echo x >> $AGENTBENCH_FILES/fix.sh || echo x > $AGENTBENCH_FILES/new || ./fix.sh"
    agentbench("--agent-command", line, "--agent-files", "fix.sh", "--run-id", "own")
    assert resolved(agentbench.runs, "own") == [True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("./gone.sh",), "a file of this machine, as in ./fix.sh or with --agent-files"),
        (("./agent.py",), "./agent.py of this machine is not executable: chmod +x ./agent.py"),
        (("x", "--agent-files", ".."), "holds the task small, which the agent must not see"),
        (("x", "--agent-files", "gone"), "expected a file or a folder, found nothing at"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_files_are_refused_before_the_run(agentbench, arguments, message):
    said = agentbench("--agent-command", *arguments)
    assert (said.returncode, message in said.stderr) == (2, True), said.stderr
    assert not agentbench.runs.exists()
