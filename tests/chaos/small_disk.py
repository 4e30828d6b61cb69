"""A disk of a few MiB: a file system in a file."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
