import os
import stat
import threading
from pathlib import Path

import pytest

from agentbench.cli.report import open_output
from agentbench.errors import UsageError


def names(folder):
    return [path.name for path in folder.iterdir()]


def test_without_a_path_it_is_stdout(capsys):
    with open_output(None) as target:
        target.write("said")
    assert capsys.readouterr().out == "said"


def test_a_file_is_there_when_all_is_written(tmp_path):
    path = tmp_path / "report.html"
    with open_output(path) as target:
        target.write("é\n")
        assert not path.exists()
    assert path.read_bytes() == "é\n".encode()
    assert names(tmp_path) == ["report.html"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def half_written(path, error):
    with open_output(path) as target:
        target.write("half")
        raise error


@pytest.mark.parametrize("error", [KeyError("x"), FileNotFoundError(2, "of something else")])
def test_what_was_there_stays_when_the_rest_cannot_be_made(tmp_path, error):
    path = tmp_path / "report.html"
    path.write_text("before")
    with pytest.raises(type(error)):
        half_written(path, error)
    assert path.read_text() == "before"
    assert names(tmp_path) == ["report.html"]


@pytest.mark.parametrize("name", ["nowhere/report.html", "."])
def test_a_place_that_takes_no_file_is_a_usage_error(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(UsageError, match=r"cannot be written \(.*\); choose another --output"):
        half_written(path, KeyError())
    assert names(tmp_path) == []


def test_a_full_disk_is_a_usage_error_too():
    with (
        pytest.raises(UsageError, match="No space left on device"),
        open_output(Path("/dev/full")) as target,
    ):
        target.write("x")


def test_a_pipe_is_written_as_it_is(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    with open_output(path) as target:
        target.write("through")
    reader.join()
    assert read == ["through"]
    assert stat.S_ISFIFO(path.stat().st_mode)
