import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.core.files import FileContent
from agentbench.sandbox.archives import (
    UNPACK,
    open_tar_stream,
    tar_of_file,
    tar_of_files,
    tar_stream,
)
from agentbench.sandbox.trees import FOLDER, remove_tree
from tests.integrity.tars import tree_tar
from tests.sandbox.conformance_trees import LINK, tar_of
from tests.sandbox.test_trees import dig


def members(tar):
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        return {
            member.name: (member.mode, archive.extractfile(member).read())
            if member.isreg()
            else (member.mode, None)
            for member in archive
        }


def test_folders_come_before_what_is_in_them():
    files = {
        PurePosixPath("b/c/run"): FileContent(content=b"#!", executable=True),
        PurePosixPath("b/z"): FileContent(content=b"", executable=False),
    }
    found = members(tar_of_files(files))
    assert list(found) == ["b", "b/c", "b/c/run", "b/z"]
    assert found == {
        "b": (0o755, None),
        "b/c": (0o755, None),
        "b/c/run": (0o755, b"#!"),
        "b/z": (0o644, b""),
    }


def test_undecodable_and_long_names_survive():
    for name in (os.fsdecode(b"\xff\xfe"), "d/" * 200 + "x", "ü" * 60 + ".py"):
        assert name in members(tar_of_file(name, b"1"))


names = st.text(
    st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=20
).filter(lambda name: name not in {".", ".."})


@given(
    st.dictionaries(
        names.map(PurePosixPath),
        st.builds(FileContent, content=st.binary(max_size=600), executable=st.booleans()),
        max_size=5,
    )
)
def test_any_files_come_back_as_they_were(files):
    assert members(tar_of_files(files)) == {
        path.as_posix(): (0o755 if file.executable else 0o644, file.content)
        for path, file in files.items()
    }


def test_exception_of_the_reader_is_not_hidden():
    with pytest.raises(KeyError), open_tar_stream([tree_tar({"a": b""})]):
        raise KeyError


def streamed(folder: Path) -> bytes:
    descriptor = os.open(folder, FOLDER)
    try:
        return b"".join(tar_stream(descriptor))
    finally:
        os.close(descriptor)


def unpack(tar: bytes, folder: Path) -> subprocess.CompletedProcess[bytes]:
    argv = (sys.executable, "-I", "-S", "-c", UNPACK, str(folder))
    return subprocess.run(argv, input=tar, capture_output=True)


def test_other_programs_read_the_stream(tmp_path: Path) -> None:
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / "deep" / ("n" * 180)).write_bytes(b"x" * 513)
    (tmp_path / "out").mkdir()
    tar = ("tar", "-x", "-C", str(tmp_path / "out"))
    subprocess.run(tar, input=streamed(tmp_path / "tree"), check=True)
    assert (tmp_path / "out" / "deep" / ("n" * 180)).read_bytes() == b"x" * 513


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 1024])
def test_no_chunk_of_the_stream_is_empty(tmp_path: Path, size: int) -> None:
    (tmp_path / "a").write_bytes(b"a" * size)
    folder = os.open(tmp_path, FOLDER)
    try:
        assert all(tar_stream(folder))
    finally:
        os.close(folder)


def test_a_file_that_shrinks_while_it_is_read_does_not_break_the_stream(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a" * 2_000_000)
    (tmp_path / "b").write_bytes(b"b")
    folder = os.open(tmp_path, FOLDER)
    stream = tar_stream(folder)
    chunks = [next(stream), next(stream)]
    os.truncate(tmp_path / "a", 10)
    chunks += stream
    os.close(folder)
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as tar:
        assert [(member.name, member.size) for member in tar] == [("a", 2_000_000), ("b", 1)]


def test_names_that_are_no_text_survive(tmp_path: Path) -> None:
    name = os.fsdecode(b"bad-\xff-name")
    (tmp_path / name).write_text("x")
    with tarfile.open(fileobj=io.BytesIO(streamed(tmp_path)), errors="surrogateescape") as tar:
        assert tar.getnames() == [name]


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "a/../../escaped"])
def test_a_member_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    done = unpack(tar_of({name: (0o644, b"x")}), tmp_path / "in")
    assert done.returncode == 1
    assert b"leads out of" in done.stderr
    assert not (tmp_path / "escaped").exists()


def test_a_member_does_not_go_through_a_link_that_leads_out(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    entries = {"link": (LINK, b"../elsewhere"), "link/x": (0o644, b"x")}
    assert unpack(tar_of(entries), tmp_path / "in").returncode == 1
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_set_user_id_bits_are_dropped(tmp_path: Path) -> None:
    assert unpack(tar_of({"x": (0o4755, b"")}), tmp_path).returncode == 0
    assert (tmp_path / "x").stat().st_mode & 0o7777 == 0o755


def test_tree_deeper_than_paths_is_packed_up_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    dig(tmp_path / "tree", 2_100)
    (tmp_path / "tree" / "z").write_text("beside")
    with tarfile.open(fileobj=io.BytesIO(streamed(tmp_path / "tree"))) as tar:
        names = tar.getnames()
    remove_tree(tmp_path / "tree")
    assert "z" in names
    assert "/".join("d" * 2_000) in names
    assert max(map(len, names)) < 4_200
