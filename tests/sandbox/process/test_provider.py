import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench.sandbox.host_environment import sandbox_user
from agentbench.sandbox.interface import ReadOnlyMount
from agentbench.sandbox.process.provider import mount_paths

pytestmark = pytest.mark.skipif(sandbox_user() is None, reason="only root can become another user")


@pytest.fixture
def ours() -> Iterator[Path]:
    """A folder of ours that lets others through, as pytest's own does not."""
    with tempfile.TemporaryDirectory(prefix="agentbench-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "tools" / "deep").mkdir(parents=True)
        (folder / "tools" / "deep" / "a.txt").write_text("in a folder")
        (folder / "tools" / "run").write_text("a program")
        (folder / "tools" / "run").chmod(0o700)
        (folder / "note").write_text("a file")
        yield folder


def found(ours: Path, *, user=None, live: bool = False) -> dict[str, Path]:
    names = ("tools", "note")
    mounts = [ReadOnlyMount(name=name, source=ours / name, live=live) for name in names]
    places = mount_paths(mounts, ours / "copies", user)
    return {name: Path(place) for name, place in places.items()}


def in_place(ours: Path) -> dict[str, Path]:
    return {name: (ours / name).resolve() for name in ("tools", "note")}


def copied(ours: Path) -> dict[str, Path]:
    return {name: ours / "copies" / name for name in ("tools", "note")}


def test_what_another_user_can_read_is_seen_in_place(ours):
    assert found(ours, user=sandbox_user()) == in_place(ours)
    assert not (ours / "copies").exists()


def test_what_another_user_cannot_read_is_copied_and_stays_ours(ours):
    (ours / "tools").chmod(0o700)
    (ours / "tools" / "deep" / "a.txt").chmod(0o600)
    (ours / "note").chmod(0o600)
    places = found(ours, user=sandbox_user())
    assert places == copied(ours)
    text, program = places["tools"] / "deep" / "a.txt", places["tools"] / "run"
    assert (text.read_text(), places["note"].read_text()) == ("in a folder", "a file")
    modes = {path.name: path.stat().st_mode & 0o777 for path in (text, program, text.parent)}
    assert modes == {"a.txt": 0o644, "run": 0o755, "deep": 0o755}
    assert {path.stat().st_uid for path in (text, program, *places.values())} == {os.geteuid()}


def test_what_is_behind_a_folder_that_lets_nobody_through_is_copied(ours):
    home = ours / "home"
    home.mkdir(mode=0o700)
    (ours / "tools").rename(home / "tools")
    mount = ReadOnlyMount(name="tools", source=home / "tools")
    [place] = mount_paths([mount], ours / "copies", sandbox_user()).values()
    assert Path(place) == ours / "copies" / "tools"


def test_what_only_works_in_place_stays_there(ours):
    (ours / "tools").chmod(0o700)
    assert found(ours, user=sandbox_user(), live=True) == in_place(ours)


def test_ourselves_we_read_all_in_place(ours):
    (ours / "tools").chmod(0o700)
    assert found(ours) == in_place(ours)
