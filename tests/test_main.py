"""The program as a shell sees it: what it prints where, and how it ends."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def run(tmp_path):
    """Run the program in a folder of its own."""

    def run(*arguments, program=("-m", "agentbench"), stdout=subprocess.PIPE):
        env = {**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "100"}
        return subprocess.run(
            [sys.executable, *program, *arguments],
            cwd=tmp_path,
            env=env,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    return run


def test_the_version_goes_to_stdout(run):
    done = run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"agentbench \d+\.\d+\.\d+\n", done.stdout)


def test_help_lists_every_exit_code(run):
    done = run("--help")
    assert done.returncode == 0
    codes = re.findall(r"\b(\d+) [a-z]", done.stdout[done.stdout.index("Exit codes") :])
    assert codes == ["0", "1", "2", "65", "69", "70", "75", "130", "141"]


def test_the_installed_program_is_the_module(run):
    script = Path(sys.executable).parent / "agentbench"
    done = run("--version", program=(str(script),))
    assert done.stdout == run("--version").stdout != ""


@pytest.mark.parametrize("arguments", [("--no-such-option",), ("no-such-command",), ("show",)])
def test_wrong_usage_is_2(run, arguments):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: agentbench" in done.stderr


def test_an_error_of_ours_is_one_line_with_its_exit_code(run, tmp_path):
    (tmp_path / "tasks").mkdir()
    done = run("tasks", "list", "tasks")
    assert (done.returncode, done.stdout) == (65, "")
    assert done.stderr == ("agentbench: tasks: no task here; a task is a folder with a task.toml\n")


def test_every_fault_is_on_a_line_of_its_own(run, tmp_path):
    for name in ("a", "b"):
        (tmp_path / "tasks" / name).mkdir(parents=True)
        (tmp_path / "tasks" / name / "task.toml").write_text("schema_version = 2\n")
    done = run("tasks", "list", "tasks")
    assert done.returncode == 65
    lines = done.stderr.splitlines()
    assert "Traceback" not in done.stderr
    assert lines[0] == "agentbench: tasks/a/task.toml: schema_version: 2 is not 1"
    assert len(lines) == 8


def test_debug_shows_the_traceback_of_an_error_too(run):
    plain, done = (run("report", "gone", *more) for more in ((), ("--debug",)))
    assert plain.returncode == done.returncode == 65
    assert "Traceback" not in plain.stderr
    assert done.stderr.startswith("Traceback (most recent call last)")
    assert done.stderr.endswith(plain.stderr)


BUG = """\
import sys
from agentbench.__main__ import main

class Bug(Exception):
    pass

class Mine:
    def find_spec(self, name, path, target=None):
        if name == "agentbench.tasks.loading":
            raise {raised}

sys.meta_path.insert(0, Mine())
sys.argv = ["agentbench", "tasks", "list", ".", *sys.argv[1:]]
main()
"""


def test_a_bug_is_70_with_its_traceback_in_a_file(run, tmp_path):
    done = run(program=("-c", BUG.format(raised="Bug('three\\nlines')")))
    assert done.returncode == 70
    assert done.stderr.startswith("agentbench: a bug in agentbench: Bug: three")
    assert "Traceback (most" not in done.stderr
    (saved,) = tmp_path.glob("agentbench-bug-*.txt")
    assert str(saved) in done.stderr
    assert saved.read_text().startswith("Traceback (most recent call last)")
    assert "find_spec" in saved.read_text()


def test_ctrl_c_before_a_run_is_130_and_no_bug(run, tmp_path):
    done = run(program=("-c", BUG.format(raised="KeyboardInterrupt")))
    assert done.returncode == 130
    assert "bug" not in done.stderr
    assert list(tmp_path.glob("agentbench-bug-*")) == []


def test_ctrl_c_while_the_command_line_is_imported_is_130_too(run, tmp_path):
    program = BUG.replace("agentbench.tasks.loading", "agentbench.cli.app")
    done = run(program=("-c", program.format(raised="KeyboardInterrupt")))
    assert (done.returncode, done.stderr) == (130, "")
    assert list(tmp_path.glob("agentbench-bug-*")) == []


END = """\
import atexit, sys, threading
from agentbench.__main__ import program
import agentbench.cli.app

def ended(name):
    print(name, "ended")

def run(prog_name):
    atexit.register(ended, "exit handler")
    has_ended = threading.Event()
    threading._register_atexit(has_ended.set)  # called when the main thread has ended
    threading.Thread(target=lambda: (has_ended.wait(), ended("thread"))).start()
    sys.stdout.write("last words ")
    {ending}

agentbench.cli.app.app = run
program()
"""


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("pass", 0),
        ("sys.exit()", 0),
        ("sys.exit(0)", 0),
        ("sys.exit(75)", 75),
        ("sys.exit('a complaint')", 1),
        ("raise ValueError('a bug')", 70),
    ],
)
def test_nothing_is_cut_off_at_the_end(run, ending, code):
    done = run(program=("-c", END.format(ending=ending)))
    assert done.returncode == code
    assert done.stdout == "last words thread ended\nexit handler ended\n"
    if code == 1:
        assert done.stderr == "a complaint\n"


UNWRITTEN = """\
import sys
from agentbench.__main__ import program
import agentbench.cli.app

def run(prog_name):
    sys.stdout.write("last words")
    sys.exit(0)

agentbench.cli.app.app = run
program()
"""


def test_last_words_that_cannot_be_written_are_no_success(run, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with Path("/dev/full").open("w") as full:
        done = run(program=("-c", UNWRITTEN), stdout=full)
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert run(program=("-c", UNWRITTEN)).returncode == 0
