"""Tar archives for containers: whose members they are, and who may read them."""

import gzip
import io
import socket
import tarfile
from pathlib import Path, PurePosixPath

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.archives import owned_by_user, owned_folders, readable_copies
from agentbench.sandbox.interface import ReadOnlyMount

BIG_ID = 3_000_000  # too big for the octal field of a header
LONG = "n" * 150


def a_tar(format_: int, uid: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format_) as tar:
        for name in ("plain", f"{LONG}/{LONG}", "süß"):
            member = tarfile.TarInfo(name)
            member.uid = member.gid = uid
            member.mode = 0o640
            member.size = 700
            tar.addfile(member, io.BytesIO(b"x" * 700))
        link = tarfile.TarInfo("link")
        link.type, link.linkname, link.uid = tarfile.SYMTYPE, LONG, uid
        tar.addfile(link)
    return buffer.getvalue()


def members(tar: bytes) -> list[tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
        return archive.getmembers()


def copied(mount: ReadOnlyMount) -> bytes:
    return b"".join(readable_copies([mount]))


@pytest.mark.parametrize("format_", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
@pytest.mark.parametrize("uid", [0, 501, BIG_ID])
def test_members_change_only_their_owner(format_: int, uid: int) -> None:
    given = a_tar(format_, uid)
    changed = members(owned_by_user(given))
    assert {(member.uid, member.gid) for member in changed} == {(1000, 1000)}
    assert [(m.name, m.size, m.mode, m.linkname) for m in changed] == [
        (m.name, m.size, m.mode, m.linkname) for m in members(given)
    ]


@pytest.mark.parametrize(
    "wrong",
    [b"", b"no tar at all" * 100, gzip.compress(bytes(10240))],
    ids=["empty", "text", "compressed"],
)
def test_malformed_tar_is_refused(wrong: bytes) -> None:
    with pytest.raises(SandboxError, match="not a plain tar"):
        owned_by_user(wrong)


def test_copies_belong_to_root_and_are_readable_by_all(tmp_path: Path) -> None:
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    (folder / "key").write_text("k")
    (folder / "key").chmod(0o600)
    (folder / "tool").write_text("t")
    (folder / "tool").chmod(0o700)
    found = members(copied(ReadOnlyMount(name="things", source=folder)))
    assert {member.name: member.mode for member in found} == {
        "things": 0o755,
        "things/key": 0o644,
        "things/tool": 0o755,
    }
    assert {(member.uid, member.uname) for member in found} == {(0, "")}


def test_a_link_to_a_mount_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to("real")
    (member,) = members(copied(ReadOnlyMount(name="n", source=tmp_path / "link")))
    assert (member.isreg(), member.size) == (True, 1)


def test_folder_is_copied_as_tar_copies_it(tmp_path: Path) -> None:
    """Links of both kinds, empty and long names, contents that fill a block or do not."""
    folder = tmp_path / "folder"
    (folder / "empty" / LONG).mkdir(parents=True)
    for size in (0, 1, 512, 513):
        (folder / f"{size}").write_bytes(b"x" * size)
    (folder / "513.again").hardlink_to(folder / "513")
    (folder / "soft").symlink_to("../away")
    (folder / "loop").symlink_to(".")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        tar = copied(ReadOnlyMount(name="f", source=folder))
    unpacked = tmp_path / "unpacked"
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
        archive.extractall(unpacked, filter="tar")
    names = {path.relative_to(unpacked / "f").as_posix() for path in (unpacked / "f").rglob("*")}
    assert names == {"empty", f"empty/{LONG}", "0", "1", "512", "513", "513.again", "soft", "loop"}
    assert (unpacked / "f" / "513.again").samefile(unpacked / "f" / "513")
    assert (unpacked / "f" / "513").read_bytes() == b"x" * 513
    assert (unpacked / "f" / "soft").readlink() == Path("../away")


def test_large_file_is_sent_in_chunks(tmp_path: Path) -> None:
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(100 << 20)
    pieces = readable_copies([ReadOnlyMount(name="big", source=big)])
    sizes = [len(piece) for piece in pieces]
    assert max(sizes) <= 1 << 20
    assert sum(sizes) > 100 << 20


def test_shrinking_file_is_an_error_instead_of_a_broken_tar(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * (2 << 20))
    pieces = readable_copies([ReadOnlyMount(name="file", source=file)])
    next(pieces)
    file.write_bytes(b"")
    with pytest.raises(OSError, match="became shorter"):
        list(pieces)


def test_folders_and_files_are_laid_out_from_the_root() -> None:
    home = PurePosixPath("/home/agentbench")
    found = members(owned_folders([home], {home / ".gitconfig": b"text"}))
    assert [(m.name, m.isdir(), m.uid) for m in found] == [
        ("home/agentbench", True, 1000),
        ("home/agentbench/.gitconfig", False, 1000),
    ]
