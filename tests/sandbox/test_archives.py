import io
import os
import tarfile
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.core.files import FileContent
from agentbench.sandbox.archives import open_tar_stream, tar_of_file, tar_of_files
from tests.integrity.tars import tree_tar


def members(tar):
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        return {
            member.name: (member.mode, archive.extractfile(member).read())
            if member.isreg()
            else (member.mode, None)
            for member in archive
        }


def test_one_file_is_one_member():
    assert members(tar_of_file("a.txt", b"x\n")) == {"a.txt": (0o644, b"x\n")}


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


def test_no_files_are_an_empty_archive():
    assert members(tar_of_files({})) == {}


def test_a_name_that_is_no_text_and_one_that_is_long_survive():
    for name in (os.fsdecode(b"\xff\xfe"), "d/" * 200 + "x", "ü" * 60 + ".py"):
        assert name in members(tar_of_file(name, b"1"))


def test_the_same_files_make_the_same_archive():
    assert tar_of_file("a", b"x") == tar_of_file("a", b"x")


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


def test_a_fault_of_whoever_reads_is_not_hidden_behind_the_tar():
    with pytest.raises(KeyError), open_tar_stream([tree_tar({"a": b""})]):
        raise KeyError
