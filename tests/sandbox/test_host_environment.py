import os
import pwd
from pathlib import Path

import pytest

from agentbench.sandbox.host_environment import can_reach, sandbox_user
from agentbench.sandbox.trees import FileOwner


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has privileges to drop")
def test_root_gets_a_user_without_a_name() -> None:
    user = sandbox_user()
    assert user is not None
    with pytest.raises(KeyError):
        pwd.getpwuid(user.uid)


def test_a_path_below_a_closed_folder_is_out_of_reach(tmp_path: Path) -> None:
    (tmp_path / "closed" / "tool").mkdir(parents=True)
    other = FileOwner(uid=60706, gid=60706)
    (tmp_path / "closed").chmod(0o700)
    assert not can_reach(other, tmp_path / "closed" / "tool")
    assert can_reach(other, Path("/usr/bin/env"))
    assert not can_reach(other, Path("/no/such/thing"))
