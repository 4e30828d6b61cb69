import os
import signal
import threading
import time

import pytest
import typer

from agentbench.cli.exit_codes import ExitCode
from agentbench.cli.proving import fill_in_ids, prove_tasks
from agentbench.errors import InputError
from agentbench.runs.options import RunOptions
from tests.fakes.staging import local_provider, small_task


@pytest.fixture
def options(tmp_path) -> RunOptions:
    return RunOptions(sandbox=local_provider(), runs_dir=tmp_path / "runs")


def test_each_task_is_tried_by_the_oracle_and_by_nobody(tmp_path, options):
    tasks = [small_task(tmp_path / name) for name in "ab"]
    proofs = prove_tasks(tasks, options, quiet=True, verbose=False)
    assert [(proof.task_id, proof.runs, proof.valid) for proof in proofs] == [
        ("a", 2, True),
        ("b", 2, True),
    ]
    names = sorted(folder.name for folder in options.runs_dir.iterdir())
    assert [name.rpartition("-")[2] for name in names] == ["noop", "oracle"]
    assert all(name.startswith("validate-") for name in names)


def test_every_task_whose_ids_cannot_be_found_is_told_at_once(tmp_path, options):
    tasks = [small_task(tmp_path / name, hidden="") for name in "ab"]
    with pytest.raises(InputError) as caught:
        fill_in_ids(tasks, options, quiet=True, verbose=False)
    assert len(caught.value.faults) == 2


def test_ctrl_c_proves_nothing(tmp_path, options):
    task = small_task(tmp_path / "small", setup='commands = ["sleep 600"]')
    pressing = threading.Thread(target=press_once_it_runs, args=(options.runs_dir,))
    pressing.start()
    with pytest.raises(typer.Exit) as caught:
        prove_tasks([task], options, quiet=True, verbose=False)
    pressing.join()
    assert caught.value.exit_code == ExitCode.INTERRUPTED


def press_once_it_runs(runs_dir) -> None:
    deadline = time.monotonic() + 120
    while not list(runs_dir.glob("*/attempts/*/1/stages/setup.log")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
