"""One base environment for all caches of a test session: to make one takes five seconds of CPU."""

import os
from pathlib import Path

import pytest

from agentbench.sandbox.back_ends import BACK_ENDS

_BACK_ENDS = tuple(each.name for each in BACK_ENDS if each.keeps_files)


def with_shared_environments(cache: Path, factory: pytest.TempPathFactory) -> Path:
    """Make a cache folder whose base environments are those of all workers.

    Not for tests that damage, count or clean what a cache holds: to them it must be theirs alone.
    """
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    for back_end in _BACK_ENDS:
        images = shared / "environments" / back_end
        images.mkdir(parents=True, exist_ok=True)
        link = cache / back_end / "images"
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(images)
    return cache
