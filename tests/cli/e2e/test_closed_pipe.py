"""The program before a reader that ends first, by real pipes."""

import os
import subprocess
import sys

import pytest

from tests.patience import HANG_SECONDS

COMMANDS = {
    "report": ("report", "last"),
    "json": ("report", "last", "--format", "json"),
    "markdown": ("report", "last", "--format", "markdown"),
    "csv": ("report", "last", "--format", "csv"),
    "show": ("show", "last", "one"),
    "explain": ("explain",),
    "agents": ("agents", "list"),
    "help": ("report", "--help"),
    "version": ("--version",),
}


def started(*arguments, **streams):
    return subprocess.Popen(
        [sys.executable, "-m", "agentbench", *map(str, arguments)], text=True, **streams
    )


@pytest.fixture
def closed_pipe():
    """The end of a pipe that one may write into, and that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_reader_that_has_ended_is_141_and_nothing_is_said(name, runs_dir, closed_pipe):
    more = ("--runs-dir", runs_dir) if "last" in COMMANDS[name] else ()
    process = started(
        *COMMANDS[name], *more, stdout=closed_pipe, stderr=subprocess.PIPE, cwd=runs_dir.parent
    )
    result = process.communicate(timeout=HANG_SECONDS)[1]
    assert process.returncode == 141
    assert "Traceback" not in result
    assert "rror" not in result


def test_a_reader_that_takes_one_line_gets_it(runs_dir):
    command = (
        'set -o pipefail; "$0" -m agentbench report last --format json --runs-dir "$1" | head -n 1'
    )
    done = subprocess.run(
        ["bash", "-c", command, sys.executable, runs_dir],
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert done.returncode in {0, 141}  # 0: all was written before the reader ended
    assert done.stdout.startswith("{")
    assert done.stderr == ""


def test_an_error_is_not_said_to_a_reader_that_has_ended(tmp_path, closed_pipe):
    process = started("report", "--runs-dir", tmp_path, stderr=closed_pipe)
    assert process.wait(HANG_SECONDS) == 141


def test_a_check_that_failed_is_not_hidden_by_its_reader(tmp_path, closed_pipe):
    process = started(
        "run", "nothing-here", cwd=tmp_path, stdout=closed_pipe, stderr=subprocess.PIPE
    )
    process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 65


def test_a_broken_pipe_that_is_no_output_of_ours_is_a_bug():
    program = (
        "import sys; from agentbench.__main__ import _report_bug, program\n"
        "sys.excepthook = _report_bug  # as main() does before typer is imported\n"
        "import agentbench.cli.show\n"
        "def explanation(*_): raise BrokenPipeError(32, 'a socket')\n"
        "agentbench.cli.show.explanation = explanation\n"
        "sys.argv = ['agentbench', 'explain']; program()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert done.returncode == 70, done.stderr
