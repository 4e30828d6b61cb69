from pathlib import Path

import pytest

from agentbench.sandbox.interface import ReadOnlyMount
from agentbench.sandbox.process_mounts import places_of
from agentbench.sandbox.sandbox_user import sandbox_user

pytestmark = pytest.mark.skipif(sandbox_user() is None, reason="only root can become another user")


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    (tmp_path / "folder" / "deep" / "a.txt").write_text("in a folder")
    (tmp_path / "file.txt").write_text("a file")
    return tmp_path


def found(ours: Path, copies: Path, **more) -> dict[str, Path]:
    mounts = [
        ReadOnlyMount(name="tools", source=ours / "folder", **more),
        ReadOnlyMount(name="note", source=ours / "file.txt", **more),
    ]
    places = places_of(mounts, copies, sandbox_user())
    return {name: Path(place) for name, place in places.items()}


def test_what_another_user_cannot_reach_is_copied_for_that_user(ours, tmp_path):
    (ours / "folder").chmod(0o700)
    (ours / "file.txt").chmod(0o600)
    copies = tmp_path / "copies"
    places = found(ours, copies)
    assert places == {"tools": copies / "tools", "note": copies / "note"}
    assert (places["tools"] / "deep" / "a.txt").read_text() == "in a folder"
    assert places["note"].read_text() == "a file"
    user = sandbox_user()
    assert user is not None
    assert {place.stat().st_uid for place in places.values()} == {user.uid}
    assert (places["tools"] / "deep" / "a.txt").stat().st_uid == user.uid


def test_what_is_behind_a_locked_folder_is_copied(ours, tmp_path):
    locked = tmp_path / "locked"
    (ours / "folder").rename(locked)
    home = tmp_path / "home"
    home.mkdir()
    locked.rename(home / "folder")
    home.chmod(0o700)
    mount = ReadOnlyMount(name="tools", source=home / "folder")
    place = Path(places_of([mount], tmp_path / "copies", sandbox_user())["tools"])
    assert place == tmp_path / "copies" / "tools"


def test_what_only_works_in_place_stays_there(ours, tmp_path):
    (ours / "folder").chmod(0o700)
    places = found(ours, tmp_path / "copies", live=True)
    assert places["tools"] == (ours / "folder").resolve()
    assert not (tmp_path / "copies").exists()


def test_ourselves_we_read_all_in_place(ours, tmp_path):
    (ours / "folder").chmod(0o700)
    mount = ReadOnlyMount(name="tools", source=ours / "folder")
    places = places_of([mount], tmp_path / "copies", None)
    assert Path(places["tools"]) == (ours / "folder").resolve()


def test_what_others_can_read_is_seen_in_place():
    mount = ReadOnlyMount(name="shell", source=Path("/bin/sh"))
    places = places_of([mount], Path("/nowhere"), sandbox_user())
    assert Path(places["shell"]) == Path("/bin/sh").resolve()
