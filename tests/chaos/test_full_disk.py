"""A full disk is said in one line and spoils nothing; with room, the run goes on."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.chaos.disturbed import Disturbed
from tests.environments import with_shared_environments
from tests.patience import wait_until
from tests.sandbox.private_engines import folder_of_an_engine, give_base_image
from tests.sandbox.second_engine import second_engine

_BALLAST = "ballast"


@contextmanager
def small_disk(folder: Path, *, mib: int) -> Iterator[Path]:
    """One that is mounted on a new folder for the length of a block."""
    image = folder.with_name(f"{folder.name}.img")
    with image.open("wb") as file:
        file.truncate(mib << 20)
    # Nothing is kept for root: these tests are root, and would never see it full.
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
    folder.mkdir()
    subprocess.run(["mount", "-o", "loop", image, folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        image.unlink()


def fill(disk: Path, *, leave: int = 0) -> None:
    """Fill a disk up to so many bytes."""
    with (disk / _BALLAST).open("ab", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            block = b"x" * size
            try:
                while _free(disk) > leave + size or (size == 1 and not leave):
                    file.write(block)
            except OSError:
                continue


def make_room(disk: Path) -> None:
    """Take the filling away."""
    (disk / _BALLAST).unlink()


def _free(disk: Path) -> int:
    import shutil

    return shutil.disk_usage(disk).free


pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can make a disk")

SOAK = pytest.mark.soak
_RUNS_MIB = 24
_ENGINE_MIB = 1400
_LONGEST = 900  # seconds, for what takes one of them on a machine that is not loaded


@pytest.fixture
def small_run(
    tmp_path: Path,
    environ: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
    whole: bool,
) -> Callable[..., Disturbed]:
    """Makes a run with options; only the soak has two attempts, controls and its own environment.

    What fills is the disk of the records: the cache lies on another one.
    """

    def make(*more: str) -> Disturbed:
        if whole:
            return _run(tmp_path, environ, more=more)
        more = (*more, "--integrity-controls", "off")
        run = _run(tmp_path, environ, attempts=1, more=more)
        with_shared_environments(run.folder / "cache", tmp_path_factory)
        return run

    return make


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.parametrize(  # room for no file, for one, for some attempts' files
    "left", [pytest.param(0, marks=SOAK), 4096, pytest.param(300_000, marks=SOAK)]
)
def test_full_disk_of_records_ends_the_run_without_damage(
    small_run: Callable[..., Disturbed], left: int
) -> None:
    run = small_run("--max-outage", "0")
    with small_disk(run.folder / "runs", mib=_RUNS_MIB) as disk:
        with run.started() as program:
            wait_until(lambda: _judged(run) >= 1 or program.poll() is not None, within=_LONGEST)
            fill(disk, leave=left)
            _, reported = program.communicate(timeout=_LONGEST)
        assert program.returncode == 69, reported
        assert "no space left on device" in reported.lower()
        assert "Traceback" not in reported
        kept = run.tries()
        assert kept

        make_room(disk)
        ended = run.to_the_end()

        assert ended.returncode == 0, ended.stderr
        run.check()
        assert run.tries()[: len(kept)] == kept


@pytest.mark.usefixtures("bubblewrap")
def test_run_waits_for_disk_space_and_continues(
    small_run: Callable[..., Disturbed],
) -> None:
    run = small_run("--max-outage", "10")
    with small_disk(run.folder / "runs", mib=_RUNS_MIB) as disk:
        with run.started() as program:
            wait_until(lambda: _judged(run) >= 1 or program.poll() is not None, within=_LONGEST)
            fill(disk)
            assert program.stderr is not None
            reported = _until(program, "paused: ")
            make_room(disk)
            _, rest = program.communicate(timeout=_LONGEST)
        assert program.returncode == 0, rest
        assert "no space left on device" in reported
        assert rest.count("paused: ") == 0
        assert "continuing after " in rest
        run.check()


@pytest.mark.soak
@pytest.mark.docker
@pytest.mark.usefixtures("docker")  # the base image comes from there
def test_full_disk_of_an_engine_ends_the_run_without_damage(
    environ: dict[str, str], tmp_path: Path
) -> None:
    with (
        folder_of_an_engine() as folder,
        small_disk(folder / "disk", mib=_ENGINE_MIB) as disk,
        second_engine(disk) as engine,
    ):
        give_base_image(engine.await_engine())
        environ = {**environ, "DOCKER_HOST": engine.base_url}
        run = _run(tmp_path, environ, sandbox="docker", attempts=1, more=("--max-outage", "0"))
        with run.started() as program:
            wait_until(lambda: _judged(run) >= 1 or program.poll() is not None, within=_LONGEST)
            fill(disk)
            _, reported = program.communicate(timeout=_LONGEST)
        assert program.returncode in {69, 75}, reported  # 75: what was under way was the last
        assert "Traceback" not in reported
        run.check_what_is_there()

        make_room(disk)
        ended = run.to_the_end()

        assert ended.returncode in {0, 75}, ended.stderr
        run.check_all_but_lost()


def _run(folder: Path, environ: dict[str, str], **more: object) -> Disturbed:
    given = {"sandbox": "bubblewrap", "attempts": 2, **more}
    return Disturbed(folder=folder / "small", environ=environ, **given)


def _judged(run: Disturbed) -> int:
    return len(run.tries()) if (run.run / "run.json").exists() else 0


def _until(program: "subprocess.Popen[str]", start: str) -> str:
    """The first line that begins so."""
    assert program.stderr is not None
    for line in program.stderr:
        if line.startswith(start):
            return line
    raise AssertionError(start)
