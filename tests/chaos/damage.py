"""One random change to a file on disk, that can be told and made again from its seed."""

import os
import random
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """What was done to a file."""

    path: Path
    what: str

    def __str__(self) -> str:
        """The file, and what was done where."""
        return f"{self.path}: {self.what}"


def damage(path: Path, draw: random.Random) -> Damage:
    """Flip one bit of a file, or cut it off; where it is, so that hard links see it too.

    The mode stays as it was; files of git's are read-only.
    """
    mode, size = path.stat().st_mode, path.stat().st_size
    path.chmod(mode | 0o200)
    try:
        if not size:
            path.write_bytes(b"\0")
            return Damage(path=path, what="a byte where none was")
        at = draw.randrange(size)
        if draw.random() < 0.3:
            os.truncate(path, at)
            return Damage(path=path, what=f"cut off at {at} of {size}")
        bit = 1 << draw.randrange(8)
        with path.open("r+b") as file:
            file.seek(at)
            (byte,) = file.read(1)
            file.seek(at)
            file.write(bytes([byte ^ bit]))
        return Damage(path=path, what=f"bit {bit:#04x} flipped at {at} of {size}")
    finally:
        path.chmod(mode)
