import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentbench.core.files import is_owned
from agentbench.sandbox.folder_sandbox import sandbox_folders
from agentbench.sandbox.trees import FileOwner

MOVE_IN = """
import os, sys
from pathlib import Path
from agentbench.sandbox.folder_sandbox import sandbox_folders
with sandbox_folders(Path(sys.argv[1]), "", None) as folders:
    print(folders.root, flush=True)
    sys.stdin.read()
"""


def test_folders_are_empty_private_and_gone_at_the_end(tmp_path: Path) -> None:
    with sandbox_folders(tmp_path / "new", "box-", None) as folders:
        assert [list(folder.iterdir()) for folder in folders.all] == [[]] * len(folders.all)
        assert {folder.stat().st_mode & 0o777 for folder in folders.all} == {0o700}
        assert folders.root.name.startswith("box-")
        (folders.workspace / "locked").mkdir(mode=0o000)
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give folders away")
def test_folders_belong_to_the_user_they_are_for(tmp_path: Path) -> None:
    with sandbox_folders(tmp_path, "", FileOwner(uid=60706, gid=60707)) as folders:
        facts = folders.workspace.stat()
        assert (facts.st_uid, facts.st_gid) == (60706, 60707)


def test_folders_are_lived_in_until_their_process_is_dead(tmp_path: Path) -> None:
    argv = (sys.executable, "-c", MOVE_IN, str(tmp_path))
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as tenant:
        assert tenant.stdout is not None
        root = Path(tenant.stdout.readline().strip())
        assert is_owned(root)
        tenant.kill()
    assert root.exists()
    assert not is_owned(root)


def test_a_folder_that_is_gone_is_not_lived_in(tmp_path: Path) -> None:
    assert not is_owned(tmp_path / "nothing")
