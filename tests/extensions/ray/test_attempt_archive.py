import io
import os
import tarfile

import pytest

from agentbench.extensions.ray.remote_attempt import pack, unpack


def test_a_folder_arrives_as_it_was(tmp_path):
    (tmp_path / "from" / "stages").mkdir(parents=True)
    (tmp_path / "from" / "stages" / "setup.log").write_bytes(b"\x00said")
    (tmp_path / "from" / "run.sh").write_text("true")
    (tmp_path / "from" / "run.sh").chmod(0o755)
    packed = pack(tmp_path / "from")
    unpack(packed.content, tmp_path / "to")
    assert packed.left_out == ()
    assert (tmp_path / "to" / "stages" / "setup.log").read_bytes() == b"\x00said"
    assert os.access(tmp_path / "to" / "run.sh", os.X_OK)


def test_what_is_too_large_is_named_and_the_small_files_still_go(tmp_path):
    for name, size in (("large", 2000), ("small", 10)):
        (tmp_path / name).write_bytes(b"x" * size)
    packed = pack(tmp_path, limit=100)
    assert packed.left_out == ("large",)
    unpack(packed.content, tmp_path / "to")
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["small"]


def test_nothing_is_written_outside_of_the_folder(tmp_path):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../outside"))
    with pytest.raises(tarfile.TarError):
        unpack(buffer.getvalue(), tmp_path / "to")
    assert not (tmp_path / "outside").exists()
