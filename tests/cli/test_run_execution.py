import json
import os
import signal
import subprocess
import sys

import pytest
from rich.text import Text

from agentbench.agents.reference import NoopAgent
from agentbench.cli.run_execution import follow_run
from agentbench.errors import ToolError
from agentbench.runs.options import RunOptions
from agentbench.runs.start import start_run
from agentbench.runs.store.reading import read_run
from tests.fakes.scripted_agent import ScriptedAgent
from tests.fakes.staging import local_provider, small_task
from tests.patience import HANG_SECONDS, wait_until
from tests.sandbox.conformance_base import sh

pytestmark = pytest.mark.full


def begun(tmp_path, agent, **more):
    options = RunOptions(
        agent=agent, sandbox=local_provider(), runs_dir=tmp_path / "runs", jobs=1, **more
    )
    return start_run([small_task(tmp_path / "small")], options)


def test_records_are_shown_as_they_end(tmp_path, capsys):
    run = begun(tmp_path, NoopAgent(), attempts=2)
    follow_run(run, quiet=False, verbose=False)
    assert [record.attempt for record in read_run(run.store.folder).records()] == [1, 2]
    result = capsys.readouterr()
    assert result.out == ""
    assert result.err.startswith("1/2 small TESTS_FAILED ")
    assert "\n2/2 small attempt 2 TESTS_FAILED " in result.err


@pytest.mark.parametrize("forced", ["", "1"])
def test_a_line_of_progress_in_a_log_is_never_wrapped(tmp_path, capsys, monkeypatch, forced):
    monkeypatch.setenv("FORCE_COLOR", forced)

    def work(_given):
        raise ToolError("a detail of many words " * 9)

    follow_run(begun(tmp_path, ScriptedAgent(work)), quiet=False, verbose=False)
    (line,) = capsys.readouterr().err.splitlines()
    assert ("\x1b[31mTOOL_ERROR\x1b[0m" in line) is bool(forced)
    assert Text.from_ansi(line).plain.startswith("1/1 small TOOL_ERROR ")
    assert line.count("many words") > 5


def test_a_run_whose_reader_has_ended_removes_its_sandboxes_and_can_be_resumed(tmp_path):
    small_task(tmp_path / "small")
    command = [sys.executable, "-m", "agentbench"]
    sandbox = local_provider().name
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*command, "run", "small", "-k", "2", "-j", "1", "-a", "oracle", "--sandbox", sandbox],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=writer, check=False,
        timeout=HANG_SECONDS,
    )  # fmt: skip
    os.close(writer)
    assert done.returncode == 141
    done = subprocess.run(
        [*command, "resume", "last"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=HANG_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "resolved 2/2 " in done.stderr


def test_in_silence_nothing_is_shown(tmp_path, capsys):
    follow_run(begun(tmp_path, NoopAgent()), quiet=True, verbose=False)
    assert capsys.readouterr() == ("", "")


def test_what_an_agent_says_cannot_steer_the_terminal(tmp_path, capsys):
    def work(_given):
        raise ToolError("\x1b[31m[bold]red[/bold]\nnext")

    follow_run(begun(tmp_path, ScriptedAgent(work)), quiet=False, verbose=True)
    (line, *_) = capsys.readouterr().err.splitlines()
    assert "\x1b" not in line
    assert "[bold]red[/bold]" in line


def test_what_attempts_wait_for_is_said_unless_in_silence(tmp_path, capsys):
    for quiet in (False, True):
        run = begun(tmp_path / str(quiet), NoopAgent())
        agent_says = ScriptedAgent(lambda _given, run=run: run.say("paused: [1] no engine"))
        run.agent = agent_says
        follow_run(run, quiet=quiet, verbose=False)
        assert ("paused: [1] no engine\n" in capsys.readouterr().err) is not quiet


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_stops_cleanly_and_the_handlers_are_put_back(tmp_path, capsys, number):
    before = signal.getsignal(number)

    def work(given):
        os.kill(os.getpid(), number)
        sh(given.sandbox, "sleep 600")

    run = begun(tmp_path, ScriptedAgent(work), attempts=9)
    follow_run(run, quiet=True, verbose=False)
    assert run.resources.cancel.is_set()
    assert len(tuple(read_run(run.store.folder).records())) == 1
    assert "Stopping. Running attempts will be marked as interrupted" in capsys.readouterr().err
    assert signal.getsignal(number) is before


def test_ctrl_c_is_130_and_the_run_can_go_on(tmp_path, sandbox):
    small_task(tmp_path / "small")
    command = [sys.executable, "-m", "agentbench", "run", "small", "--sandbox", sandbox]
    command += ["-a", "command", "--agent-command", "sleep 600", "--allow-unsandboxed"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        log = "runs/*/attempts/small/1/stages/agent_run.log"
        wait_until(lambda: list(tmp_path.glob(log)) or process.poll() is not None)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        result = process.stderr.read()
    assert process.returncode == 130
    (folder,) = (tmp_path / "runs").iterdir()
    assert result.splitlines()[-1] == f"continue with: agentbench resume runs/{folder.name}"
    assert json.loads((folder / "run.json").read_text())["ending"] == "interrupted"
    assert (folder / "attempts/small/1/record.json").is_file()
