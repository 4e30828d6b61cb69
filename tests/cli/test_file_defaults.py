import pytest

from agentbench.runs.store.store import RunStore, find_run


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configured(project, text, name="agentbench.toml"):
    (project / name).write_text(text)


@pytest.mark.full
def test_defaults_of_a_file_hold_unless_the_command_line_says_otherwise(
    cli, project, tasks, sandbox
):
    configured(
        project,
        '[tool.agentbench]\nruns-dir = "results"\njobs = 1\n'
        '[tool.agentbench.run]\nagent = "noop"\nfilter = ["f*", "x*"]\nquiet = true\n',
        "pyproject.toml",
    )
    assert cli("run", tasks, "--sandbox", sandbox).code == 0
    given = ("--sandbox", sandbox, "--agent", "oracle", "--run-id", "given")
    assert cli("run", tasks, *given).code == 0
    agents = {
        name: RunStore.open(find_run(name, project / "results")).configuration()
        for name in ("last", "given")
    }
    assert agents["given"].agent == "oracle"
    assert agents["given"].jobs == 1
    assert [task.id for task in agents["given"].tasks] == ["first"]
    assert {each.name for each in (project / "results").iterdir()} >= {"given"}
    assert "given" in cli("runs").stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[run]\nagnt = "noop"', "agentbench.toml: run.agnt: not an option of agentbench run; "),
        ('agent = "noop"', "agentbench.toml: agent: only jobs, runs-dir, sandbox are for all"),
        ("[run]\nallow-unsandboxed = true", "only the command line can permit this"),
        ("[run]\nallow-env = ['KEY']", "only the command line can permit this"),
        ("[run]\nbase-url = 'http://127.0.0.1:1'", "only the command line can permit this"),
        ("[run]\nagent-files = ['/etc']", "only the command line can permit this"),
        ("[run]\nagent = 'module:agent'", "run.agent: only the command line can permit this"),
        ("sandbox = 'process'", "agentbench.toml: sandbox: only the command line can permit this"),
        ("[run]\nquiet = 'yes'", "run.quiet: expected true or false"),
        ("[run]\nagent = ['a', 'b']", "run.agent: expected one value, found a list"),
        ("[run]\nlimit = 1979-05-27", "run.limit: expected text, a number or a list of them"),
        ("run", "agentbench.toml: "),
    ],
)
def test_wrong_files_are_65_in_one_line(cli, project, text, message):
    configured(project, text)
    result = cli("run", "tasks")
    assert (result.code, result.stderr.count("\n")) == (65, 1)
    assert message in result.stderr
    assert cli("run", "--help").code == 0


def test_a_file_of_another_tool_changes_nothing(cli, project):
    configured(project, "not toml", "pyproject.toml")
    assert cli("runs").code == 0


def test_folder_of_runs_comes_from_the_environment(cli, runs_dir, monkeypatch):
    monkeypatch.setenv("AGENTBENCH_RUNS_DIR", str(runs_dir))
    assert cli("report").code == 0
