"""Trees of programs that are safe to keep, and trees that are not."""

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench.agents.unpack_tar import UnsafeTreeError, unpack

FILE, FOLDER, LINK, HARD = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


def member(name: str, kind: bytes = FILE, *, mode: int = 0o644, to: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.linkname, info.mtime = kind, mode, to, 1_700_000_000
    return info


def tar_of(*members: tarfile.TarInfo, content: bytes = b"hello") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for each in members:
            each.size = len(content) if each.isreg() else 0
            archive.addfile(each, io.BytesIO(content))
    return buffer.getvalue()


def chunks(tar: bytes, size: int = 700) -> Iterator[bytes]:
    return (tar[at : at + size] for at in range(0, len(tar), size))


def test_files_folders_and_links_are_unpacked(tmp_path: Path) -> None:
    tar = tar_of(
        member("./bin", FOLDER, mode=0o700),
        member("./bin/tool", mode=0o700),
        member("bin/same", HARD, to="./bin/tool"),
        member("lib/deep/data.txt", mode=0o600),
        member("bin/python", LINK, to="/usr/bin/python3"),
        member("bin/up", LINK, to="../lib"),
    )
    assert unpack(chunks(tar), tmp_path) == 10
    assert (tmp_path / "bin/tool").read_bytes() == b"hello"
    assert (tmp_path / "bin/same").samefile(tmp_path / "bin/tool")
    assert (tmp_path / "lib/deep/data.txt").read_bytes() == b"hello"
    assert str((tmp_path / "bin/python").readlink()) == "/usr/bin/python3"
    assert str((tmp_path / "bin/up").readlink()) == "../lib"


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_unpacked_files_are_readable_by_all(tmp_path: Path, umask: int) -> None:
    tar = tar_of(member("d", FOLDER, mode=0o700), member("d/x", mode=0o700), member("d/y", mode=0))
    before = os.umask(umask)
    try:
        unpack(chunks(tar), tmp_path)
    finally:
        os.umask(before)
    modes = {name: (tmp_path / name).stat().st_mode & 0o7777 for name in ("d", "d/x", "d/y")}
    assert modes == {"d": 0o755, "d/x": 0o755, "d/y": 0o644}


def test_setuid_bits_are_dropped(tmp_path: Path) -> None:
    unpack(chunks(tar_of(member("x", mode=0o6755))), tmp_path)
    assert (tmp_path / "x").stat().st_mode & 0o7777 == 0o755


def test_modification_times_are_kept(tmp_path: Path) -> None:
    unpack(chunks(tar_of(member("x.py"))), tmp_path)
    assert (tmp_path / "x.py").stat().st_mtime == 1_700_000_000


@pytest.mark.parametrize(
    "members",
    [
        (member("/etc/cron.d/x"),),
        (member("../x"),),
        (member("a/../../x"),),
        (member("/abs", FOLDER),),
        (member("x", HARD, to="/etc/passwd"),),
        (member("x", HARD, to="../../etc/passwd"),),
        (member("x", HARD, to="not-there"),),
        (member("x", tarfile.CHRTYPE),),
        (member("x", tarfile.BLKTYPE),),
        (member("x", tarfile.FIFOTYPE),),
        (member("x"), member("x")),
        (member("x"), member("x/y")),
        (member("x"), member("x", FOLDER)),
        (member("x"), member("x", LINK, to="y")),
        (member("x", LINK, to="y"), member("x", FOLDER)),
    ],
    ids=lambda members: " ".join(f"{m.name}:{m.type.decode()}:{m.linkname}" for m in members),
)
def test_entry_that_leads_out_or_is_irregular_is_refused(
    tmp_path: Path, members: tuple[tarfile.TarInfo, ...]
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(UnsafeTreeError):
        unpack(chunks(tar_of(*members)), target)
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_no_file_is_written_through_a_link(tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    target.mkdir()
    elsewhere.mkdir()
    tar = tar_of(member("d", LINK, to=str(elsewhere)), member("d/x"))
    with pytest.raises(UnsafeTreeError):
        unpack(chunks(tar), target)
    assert list(elsewhere.iterdir()) == []


def test_a_hard_link_to_a_link_that_comes_later_is_refused(tmp_path: Path) -> None:
    tar = tar_of(member("a", LINK, to="/etc/passwd"), member("b", HARD, to="a"))
    with pytest.raises(UnsafeTreeError):
        unpack(chunks(tar), tmp_path)


def test_too_many_bytes_are_refused_before_they_are_written(tmp_path: Path) -> None:
    tar = tar_of(member("a"), member("b"), content=b"x" * 600)
    with pytest.raises(UnsafeTreeError, match="or 0 MiB"):
        unpack(chunks(tar), tmp_path, most_bytes=1000)
    assert not (tmp_path / "b").exists()


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsafeTreeError, match="more than 2 files"):
        unpack(chunks(tar_of(*(member(str(n)) for n in range(3)))), tmp_path, most_members=2)


def test_truncated_stream_is_refused(tmp_path: Path) -> None:
    tar = tar_of(member("a"), content=b"x" * 5000)
    with pytest.raises(tarfile.TarError):
        unpack(chunks(tar[:3000]), tmp_path)


@pytest.mark.parametrize("size", [1, 511, 512, 1 << 20])
def test_result_does_not_depend_on_chunk_size(tmp_path: Path, size: int) -> None:
    tar = tar_of(member("a"), content=b"x" * 3000)
    assert unpack(chunks(tar, size), tmp_path) == 3000


def test_stream_truncated_between_members_is_refused(tmp_path: Path) -> None:
    tar = tar_of(member("a"), member("b"))
    with pytest.raises(tarfile.TarError, match="truncated"):
        unpack(chunks(tar[:1024]), tmp_path)
