import os
from datetime import timedelta
from pathlib import Path
from threading import Event

import pytest

from agentbench.errors import RunCancelled, SandboxError
from agentbench.sandbox.interface import Command, ReadOnlyMount
from agentbench.sandbox.process.provider import FOLDER_PREFIX, open_in_place, scrubbed_environment
from agentbench.scoring.evidence import Ending
from tests.sandbox.conformance_base import PATIENCE, sh
from tests.sandbox.conformance_endings import DAEMONS, HELD, prepare, survivors


@pytest.fixture
def sandbox(tmp_path):
    environ = {"PATH": os.environ["PATH"], "SECRET": "x"}
    with open_in_place(tmp_path, environ=environ) as sandbox:
        yield sandbox


def test_commands_run_in_the_project_itself(sandbox, tmp_path):
    sh(sandbox, "echo made > file")
    assert (tmp_path / "file").read_text() == "made\n"
    assert Path(sandbox.workspace) == tmp_path


def test_results_are_private_and_gone_at_the_end(tmp_path):
    with open_in_place(tmp_path, environ=os.environ) as sandbox:
        results = Path(sandbox.results)
        assert results.stat().st_mode & 0o077 == 0
        assert results.parent.name.startswith(FOLDER_PREFIX)
        sh(sandbox, f"echo x > {sandbox.results}/y; echo z > $TMPDIR/z")
        with sandbox.read_tree(sandbox.results) as chunks:
            assert b"".join(chunks)
    assert not results.parent.exists()
    assert list(tmp_path.iterdir()) == []


def test_the_environment_is_scrubbed(sandbox):
    assert "SECRET" not in sh(sandbox, "env").stdout
    kept = {"PATH": "a", "LC_ALL": "b", "HOME": "c"}
    assert (
        scrubbed_environment({**kept, "PYTHONPATH": "d", "PYTEST_ADDOPTS": "e", "AWS_KEY": "f"})
        == kept
    )


def test_every_process_dies_with_its_command_also_one_that_detached_itself(sandbox):
    prepare(sandbox)
    sh(sandbox, f"{DAEMONS}\npython until.py {' '.join(HELD)}")
    assert survivors(sandbox) == ""


def test_a_deadline_ends_the_command(sandbox):
    command = Command(argv=("sleep", "600"), timeout=timedelta(seconds=0.3))
    assert sandbox.run(command).ending is Ending.TIMED_OUT


def test_a_command_can_be_cancelled_and_the_next_one_runs(sandbox):
    cancel = Event()
    command = Command(
        argv=("sh", "-c", "echo up; sleep 600"),
        timeout=PATIENCE,
        cancel=cancel,
        sink=lambda _stream, _chunk: cancel.set(),
    )
    with pytest.raises(RunCancelled):
        sandbox.run(command)
    assert sh(sandbox, "echo on").stdout == "on\n"


def test_mounts_are_the_files_themselves(tmp_path):
    (tmp_path / "source").mkdir()
    mount = ReadOnlyMount(name="thing", source=tmp_path / "source")
    with open_in_place(tmp_path, environ=os.environ, mounts=(mount,)) as sandbox:
        assert Path(sandbox.mounted("thing")) == tmp_path / "source"


def test_there_is_no_snapshot_of_a_project_in_place(sandbox):
    with pytest.raises(SandboxError, match="used in place"):
        sandbox.snapshot("key")
