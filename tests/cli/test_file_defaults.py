import os

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
        (
            "[rnu]\nlimit = 2",
            "agentbench.toml: [rnu]: no command of that name; did you mean [run]?",
        ),
        ("runs-dir = ''", "run.runs-dir: expected a value, found an empty text"),
    ],
)
def test_wrong_files_are_65_in_one_line(cli, project, text, message):
    configured(project, text)
    result = cli("run", "tasks")
    assert (result.code, result.stderr.count("\n")) == (65, 1)
    assert message in result.stderr
    assert cli("run", "--help").code == 0


@pytest.mark.parametrize("text", ["not toml", "tool = 3", "[[tool]]"])
def test_a_file_of_another_tool_changes_nothing(cli, project, text):
    configured(project, text, "pyproject.toml")
    assert cli("runs").code == 0


def test_a_value_in_place_of_the_table_of_options_is_65(cli, project):
    configured(project, "[tool]\nagentbench = 3", "pyproject.toml")
    result = cli("runs")
    expected = "agentbench: pyproject.toml: tool.agentbench: expected a table of options\n"
    assert (result.code, result.stderr) == (65, expected)


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (lambda path: path.write_bytes(b"jobs = 2\xff"), "byte 9 is not UTF-8"),
        (lambda path: path.mkdir(), "Is a directory"),
        (os.mkfifo, "expected a file, found a pipe or a device"),
        (lambda path: path.symlink_to("nowhere"), "No such file or directory"),
    ],
)
def test_a_file_of_defaults_that_cannot_be_read_is_not_ignored(cli, project, create, message):
    create(project / "agentbench.toml")
    result = cli("runs")
    assert (result.code, result.stderr) == (65, f"agentbench: agentbench.toml: {message}\n")


def test_a_byte_order_mark_and_windows_lines_are_accepted(cli, project):
    (project / "agentbench.toml").write_bytes(b"\xef\xbb\xbf[runs]\r\nlimit = 2\r\n")
    assert cli("runs").code == 0


def test_a_default_needs_no_other_option(cli, project):
    configured(project, "[compare]\nstrict = true\n[audit]\nseconds = 5\n")
    for command in (("compare", "a", "b"), ("audit", "nowhere")):
        assert "goes with" not in cli(*command).stderr


def test_folder_of_runs_comes_from_the_environment(cli, runs_dir, monkeypatch):
    monkeypatch.setenv("AGENTBENCH_RUNS_DIR", str(runs_dir))
    assert cli("report").code == 0
