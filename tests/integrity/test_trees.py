import hashlib
import io
import itertools
import tarfile
from pathlib import PurePosixPath as P

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.integrity.trees import (
    EntryKind,
    TreeEntry,
    entry_of,
    is_git,
    member_path,
    read_tree,
)
from tests.integrity.tars import member, tar_of, tree_tar


def test_tree_has_files_folders_and_links():
    tar = tar_of(
        member("."),
        member("./pkg", tarfile.DIRTYPE),
        (member("./pkg/run.sh", mode=0o755), b"echo"),
        member("./link", tarfile.SYMTYPE, linkname="pkg"),
        member("./pipe", tarfile.FIFOTYPE),
    )
    entries = read_tree([tar])
    assert entries[P("pkg")] == TreeEntry(kind=EntryKind.FOLDER)
    assert entries[P("pkg/run.sh")] == TreeEntry(
        kind=EntryKind.FILE, digest=hashlib.sha256(b"echo").hexdigest(), size=4, executable=True
    )
    assert entries[P("link")] == TreeEntry(
        kind=EntryKind.SYMLINK, digest=hashlib.sha256(b"pkg").hexdigest()
    )
    assert entries[P("pipe")] == TreeEntry(kind=EntryKind.OTHER)
    assert len(entries) == 4


def test_only_the_root_git_folder_is_omitted():
    entries = read_tree([tree_tar({".git/config": b"x", "sub/.git/config": b"y"})])
    assert P(".git") not in entries
    assert P(".git/config") not in entries
    assert P("sub/.git/config") in entries


def test_hard_link_has_the_entry_of_its_file():
    tar = tar_of((member("a"), b"same"), member("b", tarfile.LNKTYPE, linkname="a"))
    entries = read_tree([tar])
    assert entries[P("b")] == entries[P("a")]


@pytest.mark.parametrize("cut", [0, 100, 512, 600, 1024, 1536])
def test_truncated_stream_raises(cut):
    tar = tree_tar({"a": b"x" * 10, "b": b"y" * 10})
    with pytest.raises(tarfile.TarError):
        read_tree([tar[:cut]])


def test_stream_without_an_end_mark_raises():
    with pytest.raises(tarfile.TarError, match="truncated"):
        read_tree([tar_of((member("a"), b"x"), end=False)])


def test_only_the_end_mark_completes_a_stream():
    assert len(read_tree([tar_of((member("a"), b"x"), end=False) + bytes(512)])) == 1


def test_invalid_numbers_are_a_broken_tar():
    sparse = member("a", pax_headers={"GNU.sparse.map": "x,y", "GNU.sparse.size": "1"})
    with pytest.raises(tarfile.TarError, match="header is invalid"):
        read_tree([tar_of(sparse)])


def test_noise_is_a_broken_tar():
    with pytest.raises(tarfile.TarError):
        read_tree([b"no tar at all" * 1000])


@given(st.lists(st.integers(0, 3000), max_size=8))
def test_size_of_chunks_does_not_matter(cuts):
    tar = tree_tar({"a": b"x" * 700, "b/c": b"", "d": b"z" * 513})
    marks = [0, *sorted(cuts), len(tar)]
    chunks = [tar[start:end] for start, end in itertools.pairwise(marks)]
    assert read_tree(chunks) == read_tree([tar])


def test_equal_paths_have_one_name():
    for name in ("a/b", "./a/b", "a//b", "a/./b", "a/b/"):
        assert member_path(member(name)) == P("a/b")
    for name in (".", "./", ""):
        assert member_path(member(name)) is None


def test_is_git_matches_only_the_root():
    assert is_git(P(".git"))
    assert is_git(P(".git/hooks/x"))
    assert not is_git(P(".gitignore"))
    assert not is_git(P("sub/.git"))


def test_long_file_is_read_to_its_end():
    content = b"0123456789" * 300_000
    chunks: list[bytes] = []
    entry = entry_of(member("a", size=len(content)), io.BytesIO(content), chunks.append)
    assert entry.digest == hashlib.sha256(content).hexdigest()
    assert b"".join(chunks) == content
