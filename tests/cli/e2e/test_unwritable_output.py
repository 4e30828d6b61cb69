"""The program whose output cannot be written: a full disk, or an encoding without a character."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.e2e.test_closed_pipe import COMMANDS
from tests.patience import HANG_SECONDS


def output_of(*arguments, runs_dir, stdout=subprocess.PIPE, **variables):
    more = ("--runs-dir", runs_dir) if "last" in arguments else ()
    return subprocess.run(
        [sys.executable, "-m", "agentbench", *map(str, (*arguments, *more))],
        stdout=stdout,
        stderr=subprocess.PIPE,
        cwd=runs_dir.parent,
        env={**os.environ, **variables},
        timeout=HANG_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_stdout_is_no_bug_of_agentbench(name, runs_dir):
    with Path("/dev/full").open("wb") as full:
        done = output_of(*COMMANDS[name], runs_dir=runs_dir, stdout=full)
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()[-1:]
    assert line == (
        "agentbench: stdout: cannot be written (No space left on device); write to another file"
    )


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_characters_that_an_encoding_lacks_are_escaped(name, encoding, runs_dir):
    done = output_of(*COMMANDS[name], runs_dir=runs_dir, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert b"bug" not in done.stderr
    text = done.stdout.decode(encoding)
    if name == "json":
        json.loads(text)
    if name == "report" and encoding == "ascii":
        assert "\\u2013" in text


def test_the_c_locale_is_no_bug_of_agentbench(runs_dir):
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = output_of("report", "last", runs_dir=runs_dir, **plain)
    assert done.returncode == 0, done.stderr
    assert b"\\u2013" in done.stdout
