"""Patches and trees as changes: equal ones have equal digests, and hostile ones are refused."""

import io
import os
import tarfile
from pathlib import Path, PurePosixPath

import pytest

from agentbench.errors import InputError
from agentbench.judge import submitted_change
from agentbench.judge.submitted_change import SubmittedChange


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for member, content in members:
            member.size = len(content) or member.size
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def file(name: str, content: bytes = b"x", *, mode: int = 0o644) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.mode, info.mtime = mode, 12345
    return info, content


def special(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def test_a_folder_and_a_tar_of_the_same_files_are_the_same_change(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "run.sh").write_bytes(b"x")
    (tmp_path / "src" / "run.sh").chmod(0o755)
    (tmp_path / "link").symlink_to("src")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("")
    from_folder = SubmittedChange.of(tree=tmp_path)
    from_tar = SubmittedChange.of(
        tree=tar_of(
            special("link", tarfile.SYMTYPE, "src"),
            special("./src", tarfile.DIRTYPE),
            file("./src/run.sh", mode=0o700),
            file(".git/HEAD"),
        )
    )
    assert from_folder == from_tar
    assert from_folder.paths == {PurePosixPath("link"), PurePosixPath("src/run.sh")}


@pytest.mark.parametrize("patch", ["diff\n", "diff", b"diff\n"])
def test_a_patch_needs_no_last_line_feed(patch: str | bytes) -> None:
    assert SubmittedChange.of(patch=patch) == SubmittedChange.of(patch="diff\n")


def test_a_patch_may_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "fix.patch"
    with pytest.raises(InputError, match=r"^patch: .*fix\.patch: cannot be read: No such file"):
        SubmittedChange.of(patch=file)
    file.write_text("diff\n")
    assert SubmittedChange.of(patch=file) == SubmittedChange.of(patch="diff\n")


def test_a_patch_is_no_tree() -> None:
    tree = SubmittedChange.of(tree=tar_of())
    assert tree.digest != SubmittedChange.of(patch=tree.content).digest


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (tar_of(file("../escape")), "expected a path inside the tree"),
        (tar_of(file("/etc/passwd")), "expected a path inside the tree"),
        (tar_of(file("a/../../b")), "expected a path inside the tree"),
        (tar_of(special("dev", tarfile.CHRTYPE)), "another kind of entry"),
        (tar_of(special("pipe", tarfile.FIFOTYPE)), "another kind of entry"),
        (tar_of(file("a"), special("b", tarfile.LNKTYPE, "a")), "another kind of entry"),
        (tar_of(special("a", tarfile.SYMTYPE, "/etc"), file("a/passwd")), "lies below a path"),
        (b"no tar at all" * 100, "expected a tar without compression"),
        (tar_of(file("a", b"x" * 4096))[:1024], "expected a tar without compression"),
    ],
)
def test_hostile_archives_are_refused(tree: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SubmittedChange.of(tree=tree)


def test_a_sparse_archive_counts_as_large_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submitted_change, "MAX_TREE_BYTES", 1000)
    with pytest.raises(InputError, match="expected at most"):
        SubmittedChange.of(tree=tar_of(file("a", b"x" * 600), file("b", b"x" * 600)))


def test_too_many_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submitted_change, "MAX_TREE_ENTRIES", 2)
    with pytest.raises(InputError, match=r"expected at most .* in 2 files, found more"):
        SubmittedChange.of(tree=tar_of(file("a"), file("b"), file("c")))


def test_a_large_patch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submitted_change, "MAX_PATCH_BYTES", 10)
    with pytest.raises(InputError, match="patch: expected at most"):
        SubmittedChange.of(patch="x" * 11)


def test_a_folder_with_a_device_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: expected a file or a link"):
        SubmittedChange.of(tree=tmp_path)
    with pytest.raises(InputError, match="expected the folder of a tree"):
        SubmittedChange.of(tree=tmp_path / "missing")
