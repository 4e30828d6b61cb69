import tarfile

import pytest
from packaging.version import Version

from agentbench.errors import InputError
from agentbench.extensions.releases import sdist
from agentbench.extensions.releases.sdist import (
    remove_generated,
    restore_file,
    restore_generated_content,
    unpack_sdist,
)
from tests.extensions.releases.archives import link, tar_of, zip_of
from tests.validation.environment.trees import write_tree

FILES = {"x-1.0/PKG-INFO": "Version: 1.0", "x-1.0/src/x.py": "x = 1\n"}


def test_a_tar_is_unpacked_and_its_one_folder_is_the_project(tmp_path):
    project = unpack_sdist(tar_of(tmp_path / "x-1.0.tar.gz", FILES), tmp_path / "out")
    assert project == tmp_path / "out" / "x-1.0"
    assert (project / "src/x.py").read_text() == "x = 1\n"


def test_a_zip_is_unpacked_too(tmp_path):
    packed = zip_of(tmp_path / "x-1.0.zip", {"x-1.0/": "", **FILES})
    assert (unpack_sdist(packed, tmp_path / "out") / "src/x.py").is_file()


def test_links_within_the_project_stay(tmp_path):
    packed = tar_of(tmp_path / "x.tar.gz", FILES, link("x-1.0/y.py", "src/x.py"))
    assert (unpack_sdist(packed, tmp_path / "out") / "y.py").is_symlink()


@pytest.mark.parametrize(
    "odd",
    [
        link("x-1.0/out", "../../../../etc/passwd"),
        link("x-1.0/out", "/etc/passwd"),
        link("x-1.0/out", "../../secret", tarfile.LNKTYPE),
        link("../out", "x"),
        link("x-1.0/pipe", "", tarfile.FIFOTYPE),
        link("x-1.0/device", "", tarfile.BLKTYPE),
    ],
    ids=["above", "absolute", "hard", "name", "pipe", "device"],
)
def test_escaping_or_irregular_tar_entry_is_refused(tmp_path, odd):
    (tmp_path / "secret").write_text("s")
    with pytest.raises(InputError, match=r"^x\.tar\.gz: cannot be unpacked: "):
        unpack_sdist(tar_of(tmp_path / "x.tar.gz", FILES, odd), tmp_path / "in" / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "secret", "x.tar.gz"]


@pytest.mark.parametrize("name", ["../out", "/out", "x-1.0/../../out", "x-1.0\\..\\out"])
def test_escaping_zip_entry_is_refused(tmp_path, name):
    packed = zip_of(tmp_path / "x.zip", {**FILES, name: "s"})
    with pytest.raises(InputError, match="leads out of it"):
        unpack_sdist(packed, tmp_path / "in" / "out")
    assert list((tmp_path / "in" / "out").iterdir()) == []


def test_archive_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sdist, "MAX_BYTES", 1 << 20)
    for packed in (
        tar_of(tmp_path / "x.tar.gz", {"x-1.0/zeros": b"\0" * (2 << 20)}),
        zip_of(tmp_path / "x.zip", {"x-1.0/zeros": "0" * (2 << 20)}),
    ):
        out = tmp_path / f"out{packed.suffix}"
        with pytest.raises(InputError, match="more than 20000 files or 1 MiB"):
            unpack_sdist(packed, out)
        assert list(out.rglob("zeros")) == []


def test_very_many_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sdist, "MAX_FILES", 3)
    files = {f"x-1.0/{n}": "" for n in range(4)}
    with pytest.raises(InputError, match="more than 3 files"):
        unpack_sdist(tar_of(tmp_path / "x.tar.gz", files), tmp_path / "out")


@pytest.mark.parametrize(
    ("files", "found"),
    [({}, "nothing"), ({"a": "", "b/c": ""}, "a, b"), ({"setup.py": ""}, "setup.py")],
)
def test_a_project_is_expected_in_one_folder(tmp_path, files, found):
    with pytest.raises(InputError, match=f"expected one folder with the project, found {found}"):
        unpack_sdist(tar_of(tmp_path / "x.tar.gz", files), tmp_path / "out")


@pytest.mark.parametrize("name", ["x.tar.gz", "x.zip", "x.tar.bz2"])
def test_malformed_archive_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"<html>not found</html>")
    with pytest.raises(InputError, match="cannot be unpacked") as error:
        unpack_sdist(tmp_path / name, tmp_path / "out")
    assert "\n" not in str(error.value)


def test_a_tar_that_is_cut_off_is_refused(tmp_path):
    whole = tar_of(tmp_path / "x.tar.gz", {"x-1.0/a": bytes(range(256)) * 4096}).read_bytes()
    (tmp_path / "x.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot be unpacked"):
        unpack_sdist(tmp_path / "x.tar.gz", tmp_path / "out")


def carried(tmp_path, before, after, versions=("1.2", "1.3")):
    old, new = write_tree(tmp_path / "old", before), write_tree(tmp_path / "new", after)
    restore_generated_content(
        old, new, old_version=Version(versions[0]), new_version=Version(versions[1])
    )
    return {p.relative_to(new).as_posix(): p.read_bytes() for p in new.rglob("*") if p.is_file()}


def test_generated_metadata_is_removed(tmp_path):
    names = ["x.egg-info/PKG-INFO", "src/y.egg-info/SOURCES.txt", "a/__pycache__/b.pyc", "c.pyc"]
    tree = write_tree(tmp_path, dict.fromkeys([*names, "PKG-INFO", ".git/config", "x.py"], ""))
    (tree / "linked.egg-info").symlink_to("x.py")
    remove_generated(tree)
    left = sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*"))
    assert left == ["PKG-INFO", "a", "linked.egg-info", "src", "x.py"]


def test_line_with_only_another_version_is_restored(tmp_path):
    found = carried(
        tmp_path,
        {"x/__init__.py": '__version__ = "1.2"\nversion_info = (1, 2)\n', "p.toml": 'v = "1.2"\n'},
        {
            "x/__init__.py": '__version__ = "1.3"\nversion_info = (1, 3)\nnew = "1.3"\n',
            "p.toml": 'v = "1.3"\n',
        },
    )
    assert found["p.toml"] == b'v = "1.2"\n'
    text = b'__version__ = "1.2"\nversion_info = (1, 2)\nnew = "1.3"\n'
    assert found["x/__init__.py"] == text


def test_longer_number_with_version_is_kept(tmp_path):
    found = carried(tmp_path, {"x.py": "a = 1.25\n"}, {"x.py": "a = 1.35\n"})
    assert found["x.py"] == b"a = 1.35\n"


@pytest.mark.parametrize("name", ["NEWS.md", "CHANGES"])
def test_a_changelog_keeps_its_headings(tmp_path, name):
    found = carried(tmp_path, {name: "## 1.2\n"}, {name: "## 1.3\n\n## 1.2\n"})
    assert found[name] == b"## 1.3\n\n## 1.2\n"


def test_line_ends_and_bytes_of_any_encoding_stay(tmp_path):
    before = b'v = "1.2"\r\nname = "Jos\xe9"\r\n'
    after = b'v = "1.3"\r\nname = "Jos\xe9!"\r\n'
    found = carried(tmp_path, {"x.py": before}, {"x.py": after})
    assert found["x.py"] == b'v = "1.2"\r\nname = "Jos\xe9!"\r\n'


def test_generated_files_are_restored(tmp_path):
    generated = "# file generated by setuptools-scm\nversion = {!r}\n"
    found = carried(
        tmp_path,
        {"x/_version.py": generated.format("1.2"), "PKG-INFO": "old", "tox.ini": "old"},
        {
            "x/_version.py": generated.format("1.3+d"),
            "PKG-INFO": "new",
            ".github/ci.yml": "new",
            "tox.ini": "new",
            "x/version.py": "def parse(): ...\n",
        },
    )
    assert found == {
        "x/_version.py": generated.format("1.2").encode(),
        "PKG-INFO": b"old",
        "tox.ini": b"old",
        "x/version.py": b"def parse(): ...\n",
    }


def test_a_file_that_only_the_newer_release_has_stays(tmp_path):
    assert carried(tmp_path, {"a.py": "a"}, {"a.py": "b", "c.py": "c"}) == {
        "a.py": b"b",
        "c.py": b"c",
    }


def test_links_are_restored(tmp_path):
    old, new = write_tree(tmp_path / "old", {"a": "a"}), write_tree(tmp_path / "new", {"a": "a"})
    (old / "README").symlink_to("a")
    (new / "README").write_text("now a file")
    (new / "added").symlink_to("a")
    restore_generated_content(old, new, old_version=Version("1"), new_version=Version("2"))
    assert (new / "README").readlink().name == "a"
    assert not (new / "added").is_symlink()


def test_lock_files_are_restored(tmp_path):
    assert carried(tmp_path, {"uv.lock": "old"}, {"uv.lock": "new"})["uv.lock"] == b"old"


def test_single_file_is_restored(tmp_path):
    old = write_tree(tmp_path / "old", {"NEWS": "old"})
    new = write_tree(tmp_path / "new", {"NEWS": "new", "docs/more.md": "new"})
    restore_file(old / "NEWS", new / "NEWS")
    restore_file(old / "docs/more.md", new / "docs/more.md")
    assert (new / "NEWS").read_text() == "old"
    assert not (new / "docs/more.md").exists()


def test_a_version_file_that_the_newer_release_alone_has_stays(tmp_path):
    generated = "# file generated by setuptools-scm\n__version__ = '1.3'\n"
    after = {"x/_version.py": generated, "x/__init__.py": "from ._version import __version__\n"}
    found = carried(tmp_path, {"x/__init__.py": "\n"}, after)
    assert found["x/_version.py"] == generated.encode()
