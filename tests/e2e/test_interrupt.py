"""Ctrl-C keeps what was done and leaves nothing; `resume` ends in the same verdicts."""

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from agentbench.runs.store.store import RunStore
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from agentbench.sandbox.cleanup import find_orphans, remove_orphans
from agentbench.taxonomy import FailureReason
from tests.e2e.hosts import silent_host
from tests.e2e.leftovers import left_on_machine
from tests.e2e.program import begun_program, records_of, run_program, started_program
from tests.e2e.small_task import FIX, PARTIAL_FIX, SmallTask
from tests.patience import HANG_SECONDS, wait_until

# What each of three tasks gets from the one agent; all differ in how they end.
AGENT = f'case "$(cat which.txt)" in a) {FIX};; b) {PARTIAL_FIX};; c) exit 3;; esac'
VERDICTS = {
    "a": None,
    "b": FailureReason.TESTS_FAILED,
    "c": FailureReason.TOOL_ERROR,
}
_RANDOM = random.Random(20261121)
SHARES = sorted(_RANDOM.random() for _ in range(10))
"""Ten moments, as shares of an undisturbed run; the gate tries the ninth.

Runs in containers are killed, which is harsher, in tests/chaos.
"""


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.parametrize(
    "share",
    [
        pytest.param(share, marks=() if number == 8 else pytest.mark.soak)
        for number, share in enumerate(SHARES)
    ],
)
def test_a_run_that_was_cut_off_resumes_to_the_same_verdicts(
    tmp_path: Path, environ: dict[str, str], undisturbed: float, share: float
) -> None:
    run = tmp_path / "runs" / "cut"
    line = _line(tmp_path)
    with begun_program(*line, env=environ, cwd=tmp_path) as program:
        with suppress(subprocess.TimeoutExpired):  # whatever moment it comes to, all has to hold
            program.wait(timeout=0.05 + share * (undisturbed - 0.2))
        if program.poll() is None:
            program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=HANG_SECONDS)
    assert left_on_machine(program.pid, Path(environ["AGENTBENCH_CACHE"])) == []
    assert "Traceback" not in said
    # By the signal itself where it came when Python was already leaving: 130 in a shell, too.
    assert program.returncode in {0, 130, -signal.SIGINT}, said
    if "continue with: agentbench resume" in said:
        assert program.returncode == 130
        assert RunStore.open(run).configuration().ending == "interrupted"
    if not run.exists():  # cut off before there was a run
        again = run_program(*line, env=environ, cwd=tmp_path)
    else:
        again = run_program("resume", "cut", env=environ, cwd=tmp_path)

    assert again.returncode == 0, again.stderr
    assert _verdicts(run) == VERDICTS
    assert RunStore.open(run).configuration().ending == "finished"


@pytest.mark.usefixtures("bubblewrap")
def test_a_second_ctrl_c_ends_at_once(tmp_path: Path, environ: dict[str, str]) -> None:
    task = SmallTask().write(tmp_path / "small")
    # It ignores the cut of its sandbox, as Python code may: the first Ctrl-C has to wait for it.
    (tmp_path / "stubborn.py").write_text(
        "import pathlib, threading\ndef agent(*_):\n    pathlib.Path('at-work').touch()\n"
        "    threading.Event().wait()\n"
    )
    options = ("--agent", "stubborn:agent", "--sandbox", "bubblewrap")
    with started_program("run", task, *options, env=environ, cwd=tmp_path) as program:
        wait_until((tmp_path / "at-work").exists)
        program.send_signal(signal.SIGINT)
        # Only now a second one: two signals that come at once may be delivered as one.
        assert program.stderr is not None
        assert any("Ctrl-C again: stop at once" in line for line in program.stderr)
        program.send_signal(signal.SIGINT)
        program.wait(timeout=HANG_SECONDS)
        assert "continue with: agentbench resume" in program.stderr.read()

    assert program.returncode in {-signal.SIGINT, 130}
    cache = Path(environ["AGENTBENCH_CACHE"])
    left = left_on_machine(program.pid, cache)

    def all_removed() -> bool:
        remove_orphans(tuple(each for each in find_orphans(cache) if each.id in left))
        return left_on_machine(program.pid, cache) == []

    # A folder counts as owned while a child of the program lives, or for ten seconds if it is new.
    wait_until(all_removed)


@pytest.mark.usefixtures("bubblewrap")
def test_ctrl_c_ends_a_clone_that_hangs(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "small").mkdir()
    with silent_host() as port:
        repo = f'url = "https://127.0.0.1:{port}/x.git"\ncommit = "{"0" * 40}"'
        task = SmallTask(repo=repo, files={}).write(tmp_path / "small")
        options = ("--agent", "noop", "--sandbox", "bubblewrap", "--run-id", "cut")
        log = tmp_path / "runs" / "cut" / "attempts" / "small" / "1" / "stages" / "git_clone.log"
        with started_program("run", task, *options, env=environ, cwd=tmp_path) as program:
            wait_until(log.exists)
            program.send_signal(signal.SIGINT)
            program.communicate(timeout=HANG_SECONDS)

    assert program.returncode == 130
    [record] = records_of(tmp_path / "runs" / "cut")
    assert record.failure_reason is FailureReason.INTERRUPTED


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, cache_dir: Path, bubblewrap: BubblewrapProvider
) -> float:
    """How many seconds a run takes that nobody cuts off; its verdicts are the expected ones."""
    bubblewrap.resolve_image(None)  # what is made once is no part of it
    folder = tmp_path_factory.mktemp("undisturbed")
    env = {**os.environ, "AGENTBENCH_CACHE": str(cache_dir)}
    began = time.monotonic()
    ended = run_program(*_line(folder), env=env, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    assert _verdicts(folder / "runs" / "cut") == VERDICTS
    return time.monotonic() - began


def _line(folder: Path) -> tuple[str, ...]:
    for which in VERDICTS:
        files = {**SmallTask().files, "which.txt": which}
        if not (folder / "tasks" / which).exists():
            SmallTask(files=files).write(folder / "tasks" / which)
    return (
        "run", "tasks", "--agent", "command", "--agent-command", AGENT, "--jobs", "2",
        "--sandbox", "bubblewrap", "--run-id", "cut", "-q", "--no-cache",
    )  # fmt: skip


def _verdicts(run: Path) -> dict[str, FailureReason | None]:
    return {record.task_id: record.failure_reason for record in records_of(run)}
