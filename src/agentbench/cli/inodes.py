"""What files really take on a disk, each counted once however many names it has."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

Inode = tuple[int, int]
"""The device and the number of a file."""

_BLOCK = 512


def inodes_below(paths: Iterable[Path]) -> dict[Inode, int]:
    """The bytes that are allocated to each file and folder at some paths and below them."""
    found: dict[Inode, int] = {}
    waiting = [str(path) for path in paths]
    while waiting:
        with suppress(OSError):  # gone meanwhile, or not ours to see
            path = waiting.pop()
            facts = os.lstat(path)
            found[facts.st_dev, facts.st_ino] = facts.st_blocks * _BLOCK
            with os.scandir(path) as entries:
                waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            with os.scandir(path) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        facts = entry.stat(follow_symlinks=False)
                        found[facts.st_dev, facts.st_ino] = facts.st_blocks * _BLOCK
    return found
