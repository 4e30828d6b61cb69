import subprocess
from pathlib import PurePosixPath
from pathlib import PurePosixPath as P

import pytest

from agentbench.audit.base_tree import BaseTree, blob_hash, project_names, read_base
from agentbench.errors import GitCloneError
from agentbench.tasks.mirror import Mirror, Mirrors
from agentbench.tasks.task import RepoSource


@pytest.fixture
def base_of(tmp_path):
    def base_of(files, links=()):
        for name, content in files.items():
            path = tmp_path / "repo" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        for name, target in links:
            (tmp_path / "repo" / name).symlink_to(target)
        mirrors = Mirrors(tmp_path / "mirrors")
        return read_base(mirrors.of(RepoSource(files=tmp_path / "repo")))

    return base_of


def test_files_are_read_unchanged(base_of):
    files = {"a.py": b"x\n", "deep/er/ä \n.txt": "ö".encode(), "empty": b"", "bin": b"\0\xff\n"}
    base = base_of(files)
    assert {path.as_posix(): content for path, content in base.contents.items()} == files
    assert {path.as_posix() for path, _ in base.texts()} == set(files) - {"bin"}
    assert (base.text("a.py"), base.text("bin"), base.text("none")) == ("x\n", None, None)
    assert base.unread == 0


def test_symlinks_are_left_out(base_of):
    assert set(base_of({"a": b"x"}, links=[("b", "a")]).blobs) == {P("a")}


def test_large_file_is_known_by_hash_only(base_of):
    large = b"x" * 3_000_000
    base = base_of({"large": large, "small": b"x"})
    assert (base.contents.get(P("large")), base.unread) == (None, 1)
    assert base.equal_to(large) == [P("large")]
    assert base.equal_to(b"x") == [P("small")]
    assert base.equal_to(b"y") == []


def test_blob_hash_equals_that_of_git(tmp_path):
    (tmp_path / "x").write_bytes(b"some\ncontent")
    result = subprocess.run(
        ["git", "hash-object", str(tmp_path / "x")], capture_output=True, text=True, check=True
    )
    assert blob_hash(b"some\ncontent", "sha1") == result.stdout.strip()


def test_many_large_files_are_read(base_of):
    files = {f"{n}": b"%d" % n * 1_900_000 for n in range(9)}
    assert len(base_of(files).contents) == 9


def test_missing_commit_in_mirror_is_an_error(base_of, tmp_path):
    base_of({"a": b"x"})
    (path,) = (tmp_path / "mirrors").glob("*.git")
    with pytest.raises(GitCloneError):
        read_base(Mirror(path=path, commit="0" * 40))


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("pyproject.toml", '[project]\nname = "My.Shop"\n', "my-shop"),
        ("pyproject.toml", '[tool.poetry]\nname = "shop"\n', "shop"),
        ("setup.cfg", "[metadata]\nname = the_shop\n", "the-shop"),
        ("setup.py", "from setuptools import setup\nsetup(name='shop', version='1')\n", "shop"),
    ],
)
def test_project_name_is_read_from_configuration(file, text, name):
    assert project_names(BaseTree(contents={PurePosixPath(file): text.encode()})) == {name}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", "not toml ["),
        ("pyproject.toml", "project = 1\ntool = 2\n"),
        ("pyproject.toml", "[project]\nname = 3\n"),
        ("pyproject.toml", "a = " + "[" * 10_000),
        ("setup.cfg", "no section\n"),
        ("setup.cfg", "[metadata]\nversion = 1\n"),
        ("setup.cfg", "[metadata]\nname" + " " * 1_000_000 + "x\n"),
        ("setup.py", "def ("),
        ("setup.py", "setup(name=NAME)\n"),
        ("setup.py", "(" * 10_000),
        ("other.toml", '[project]\nname = "x"\n'),
    ],
)
def test_project_without_a_name_or_with_malformed_files_has_none(file, text):
    assert project_names(BaseTree(contents={PurePosixPath(file): text.encode()})) == frozenset()
