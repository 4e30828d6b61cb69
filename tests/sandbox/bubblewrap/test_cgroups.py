import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentbench.sandbox.bubblewrap.cgroups import (
    CgroupHierarchy,
    find_hierarchy,
    make_group,
    remove_group,
)
from agentbench.sandbox.interface import Limits
from agentbench.sandbox.ownership import group_name
from tests.patience import HANG_SECONDS


def v2(tmp_path: Path, own: str, handed_down: dict[str, str]) -> CgroupHierarchy | None:
    """What is found on a machine with version 2 and these `subtree_control` files."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cgroup").write_text(f"0::{own}\n")
    for folder, words in handed_down.items():
        path = tmp_path / "groups" / folder
        path.mkdir(parents=True, exist_ok=True)
        (path / "cgroup.subtree_control").write_text(words + "\n")
    return find_hierarchy(tmp_path / "proc", tmp_path / "groups")


def test_version_2_uses_the_nearest_delegating_group(tmp_path: Path) -> None:
    words = {".": "cpu memory pids", "user/app": "memory pids", "user/app/ours.scope": ""}
    found = v2(tmp_path, "/user/app/ours.scope", words)
    assert found is not None
    folder = tmp_path / "groups" / "user" / "app"
    assert (found.version, found.parents) == (2, {"memory": folder, "pids": folder})


def test_version_2_without_memory_is_unusable(tmp_path: Path) -> None:
    assert v2(tmp_path, "/", {".": "cpu pids"}) is None


def test_a_machine_without_control_groups_has_no_hierarchy(tmp_path: Path) -> None:
    assert find_hierarchy(tmp_path, tmp_path) is None


@pytest.fixture
def hierarchy() -> CgroupHierarchy:
    found = find_hierarchy()
    if found is None:
        pytest.skip("no control groups may be made here")
    return found


def test_group_limits_admitted_processes(hierarchy: CgroupHierarchy) -> None:
    group = make_group(hierarchy, group_name("test"), Limits(memory_mib=64, pids=7))
    try:
        assert group.folders.keys() == hierarchy.parents.keys()
        with subprocess.Popen(("sleep", "1000")) as child:
            group.admit(child.pid)
            assert group.processes() == [child.pid]
            members = {(folder / "cgroup.procs").read_text() for folder in group.folders.values()}
            child.kill()
        assert members == {f"{child.pid}\n"}
        assert (group.folders["pids"] / "pids.max").read_text() == "7\n"
        assert group.oom_kills() == 0
    finally:
        group.remove()
    assert not any(folder.exists() for folder in group.folders.values())


def test_throttled_group_is_removed_with_its_processes(
    hierarchy: CgroupHierarchy,
) -> None:
    group = make_group(hierarchy, group_name("test-spent"), Limits(cpus=0.01))
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        for process in busy:
            group.admit(process.pid)
        group.remove()
        assert not any(folder.exists() for folder in group.folders.values())
        assert [process.wait(HANG_SECONDS) for process in busy] == [-signal.SIGKILL] * 4
    finally:
        for process in busy:
            process.kill()


def test_failed_group_leaves_nothing(tmp_path: Path) -> None:
    plain = CgroupHierarchy(version=2, parents={"memory": tmp_path})  # no kernel behind it
    with pytest.raises(FileNotFoundError):
        make_group(plain, "x", Limits())
    assert list(tmp_path.iterdir()) == []


def test_removal_of_a_missing_group_does_nothing(tmp_path: Path) -> None:
    remove_group(tmp_path / "gone")
    assert list(tmp_path.iterdir()) == []
