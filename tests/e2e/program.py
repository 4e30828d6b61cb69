"""The program as a person starts it: in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from agentbench import AttemptRecord
from agentbench.runs.store.store import RunStore

_LONGEST = 900  # seconds; many times what it takes on a machine that is not loaded
_BEGIN = """
import sys
from agentbench.__main__ import program
sys.stderr.write("begun\\n")
program()
"""


def run_program(
    *arguments: str | Path,
    env: Mapping[str, str],
    cwd: Path,
    prefix: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Run `agentbench` to its end."""
    return subprocess.run(
        [*prefix, *argv(*arguments)],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
    )


@contextmanager
def started_program(
    *arguments: str | Path, env: Mapping[str, str], cwd: Path
) -> Iterator[subprocess.Popen[str]]:
    """`agentbench` under way; killed if it outlives the block."""
    with _started(argv(*arguments), env, cwd) as program:
        yield program


@contextmanager
def begun_program(
    *arguments: str | Path, env: Mapping[str, str], cwd: Path
) -> Iterator[subprocess.Popen[str]]:
    """The same, once Python has made itself ready: nobody but Python answers a signal before."""
    with _started([sys.executable, "-c", _BEGIN, *map(str, arguments)], env, cwd) as program:
        assert program.stderr is not None
        assert program.stderr.readline() == "begun\n"
        yield program


@contextmanager
def _started(
    line: Sequence[str], env: Mapping[str, str], cwd: Path
) -> Iterator[subprocess.Popen[str]]:
    program = subprocess.Popen(
        line,
        env=env,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with program:
        try:
            yield program
        finally:
            program.kill()


def argv(*arguments: str | Path) -> list[str]:
    """The command line, with this very Python."""
    return [sys.executable, "-m", "agentbench", *map(str, arguments)]


def records_of(run: Path) -> tuple[AttemptRecord, ...]:
    """The last record of every attempt of a run."""
    return RunStore.open(run).latest()
