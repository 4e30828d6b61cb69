import tarfile

import pytest

from agentbench.errors import InputError
from agentbench.importers.release import sdist
from agentbench.importers.release.sdist import unpack_sdist
from tests.importers.release.archives import link, tar_of, zip_of

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
def test_what_leads_out_of_a_tar_or_is_no_file_is_refused(tmp_path, odd):
    (tmp_path / "secret").write_text("s")
    with pytest.raises(InputError, match=r"^x\.tar\.gz: cannot be unpacked: "):
        unpack_sdist(tar_of(tmp_path / "x.tar.gz", FILES, odd), tmp_path / "in" / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "secret", "x.tar.gz"]


@pytest.mark.parametrize("name", ["../out", "/out", "x-1.0/../../out", "x-1.0\\..\\out"])
def test_what_leads_out_of_a_zip_is_refused(tmp_path, name):
    packed = zip_of(tmp_path / "x.zip", {**FILES, name: "s"})
    with pytest.raises(InputError, match="leads out of it"):
        unpack_sdist(packed, tmp_path / "in" / "out")
    assert list((tmp_path / "in" / "out").iterdir()) == []


def test_a_bomb_is_left_before_it_is_unpacked(tmp_path, monkeypatch):
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
def test_what_is_no_archive_is_refused_in_one_line(tmp_path, name):
    (tmp_path / name).write_bytes(b"<html>not found</html>")
    with pytest.raises(InputError, match="cannot be unpacked") as error:
        unpack_sdist(tmp_path / name, tmp_path / "out")
    assert "\n" not in str(error.value)


def test_a_tar_that_is_cut_off_is_refused(tmp_path):
    whole = tar_of(tmp_path / "x.tar.gz", {"x-1.0/a": bytes(range(256)) * 4096}).read_bytes()
    (tmp_path / "x.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot be unpacked"):
        unpack_sdist(tmp_path / "x.tar.gz", tmp_path / "out")
