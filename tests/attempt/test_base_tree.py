"""Trees that GNU tar packs from a real folder, stored and loaded again."""

import os
import random
import re
import subprocess
import tarfile
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from pathlib import PurePosixPath as P

import pytest
from pydantic import ValidationError

from agentbench.attempt.base_tree import (
    BaseTree,
    base_tree_digest,
    load_base_tree,
    store_base_tree,
)
from agentbench.integrity.trees import EntryKind, read_tree
from tests.integrity.tars import tree_tar

AWKWARD = (
    b"latin-\xe9.py", "umlaut-ä-日本.py".encode(), b"100%25 %2e.txt", b'a "quote" \\ back',
    b"line\nfeed", b"-dash", b"tab\tand \x7f\x1b[31m", b"x" * 255, b"C1 \xc2\x9b \xed\xa0\x80",
)  # fmt: skip
MIB = 1 << 20


def packed(folder: Path) -> Iterator[bytes]:
    with subprocess.Popen(["tar", "-C", folder, "-cf", "-", "."], stdout=subprocess.PIPE) as tar:
        assert tar.stdout is not None
        while chunk := tar.stdout.read(MIB):
            yield chunk
    assert tar.returncode == 0


def stored(source: Path, target: Path) -> BaseTree:
    target.mkdir()
    store_base_tree(packed(source), target)
    return load_base_tree(target)


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


def test_any_file_name_is_stored(source, tmp_path):
    for number, name in enumerate(AWKWARD):
        below = source / os.fsdecode(name)
        below.mkdir()
        (below / below.name).write_text(str(number))
    tree = stored(source, tmp_path / "stored")
    assert tree.entries == read_tree(packed(source))
    for number, name in enumerate(AWKWARD):
        assert tree.content(P(os.fsdecode(name + b"/" + name))) == str(number).encode()
    (tmp_path / "stored" / "base.json").read_bytes().decode("ascii")


def test_every_kind_of_entry_is_stored(source, tmp_path):
    (source / "sub").mkdir()
    (source / "run.sh").write_bytes(b"echo\n")
    (source / "run.sh").chmod(0o755)
    os.link(source / "run.sh", source / "sub" / "hard")
    (source / "soft").symlink_to("run.sh")
    os.mkfifo(source / "pipe")
    tree = stored(source, tmp_path / "stored")
    kinds = {path.as_posix(): entry.kind for path, entry in tree.entries.items()}
    assert kinds == {
        "sub": EntryKind.FOLDER,
        "run.sh": EntryKind.FILE,
        "sub/hard": EntryKind.FILE,
        "soft": EntryKind.SYMLINK,
        "pipe": EntryKind.OTHER,
    }
    assert tree.entries == read_tree(packed(source))
    assert tree.entries[P("sub/hard")].executable
    assert tree.content(P("sub/hard")) == tree.content(P("run.sh")) == b"echo\n"
    for path in ("sub", "soft", "pipe", "absent"):
        assert tree.content(P(path)) is None


def test_equal_contents_are_stored_once_without_git_folder(source, tmp_path):
    noise = random.Random(1).randbytes(MIB)
    names = [f"{number}.bin" for number in range(5)]
    for name in names:
        (source / name).write_bytes(noise)
        (source / f"{name}.empty").touch()
        (source / f"{name}.own").write_text(name)
    (source / ".git").mkdir()
    (source / ".git" / "pack").write_bytes(random.Random(2).randbytes(MIB))
    tree = stored(source, tmp_path / "stored")
    assert all(tree.content(P(name)) == noise for name in names)
    assert all(tree.content(P(f"{name}.empty")) == b"" for name in names)
    assert all(tree.content(P(f"{name}.own")) == name.encode() for name in names)
    assert MIB < tree.contents.stat().st_size < 1.1 * MIB
    assert P(".git/pack") not in tree.entries


def test_contents_are_compressed(source, tmp_path):
    (source / "a.txt").write_text("the same line\n" * 10_000)
    assert stored(source, tmp_path / "stored").contents.stat().st_size < 1000


def test_huge_file_is_streamed(source, tmp_path):
    with (source / "huge").open("wb") as huge:
        for seed in range(50):
            huge.write(random.Random(seed).randbytes(MIB))
    tracemalloc.start()
    try:
        tree = stored(source, tmp_path / "stored")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 * MIB
    assert tree.entries[P("huge")].size == 50 * MIB
    assert tree.content(P("huge")) == (source / "huge").read_bytes()


def test_truncated_stream_is_refused(tmp_path):
    tar = tree_tar({"a": b"x" * 2000})
    with pytest.raises(tarfile.TarError):
        store_base_tree([tar[:1000]], tmp_path)


@pytest.mark.parametrize("name", ["base.json", "base.contents"])
def test_damage_of_either_file_changes_the_digest(source, tmp_path, name):
    (source / "a.txt").write_text("one")
    stored(source, tmp_path / "stored")
    before = base_tree_digest(tmp_path / "stored")
    path = tmp_path / "stored" / name
    content = path.read_bytes()
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert base_tree_digest(tmp_path / "stored") != before
    path.write_bytes(content)
    assert base_tree_digest(tmp_path / "stored") == before
    path.unlink()
    with pytest.raises(FileNotFoundError):
        base_tree_digest(tmp_path / "stored")


def test_invalid_manifest_is_refused(tmp_path):
    (tmp_path / "base.json").write_text('{"a": 1}')
    with pytest.raises(ValidationError):
        load_base_tree(tmp_path)


def test_damaged_contents_are_never_returned(source, tmp_path):
    (source / "a.txt").write_text("the content\n" * 100)
    tree = stored(source, tmp_path / "stored")
    content, before = tree.contents.read_bytes(), tree.content(P("a.txt"))
    damaged = f"{re.escape(str(tree.contents))} was damaged while it was in use"
    for at in range(len(content)):
        tree.contents.write_bytes(content[:at])
        with pytest.raises(OSError, match=damaged):
            tree.content(P("a.txt"))
        tree.contents.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        with suppress(OSError):  # a bit that only fills up a byte of zlib's does no harm
            assert tree.content(P("a.txt")) == before
