"""A judge on a real back end, and one small task."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from difflib import unified_diff
from pathlib import Path

import pytest

from agentbench import Judge, RunOptions
from agentbench.sandbox.interface import SandboxProvider
from agentbench.tasks.task import Task
from tests.e2e.small_task import BUGGY, FIXED
from tests.fakes.staging import local_provider, small_task


def patch_to(changed: str) -> str:
    """A patch that changes the small task's program."""
    lines = unified_diff(
        BUGGY.splitlines(keepends=True),
        changed.splitlines(keepends=True),
        "a/basket.py",
        "b/basket.py",
    )
    return "".join(lines)


FIX = patch_to(FIXED)
HALF = patch_to(BUGGY.replace("sum(prices[1:])", "sum(prices[1:]) or sum(prices)"))
SLOW = patch_to("import time\ntime.sleep(600)\n" + FIXED)

OpenJudge = Callable[..., Judge]
_POOLS = frozenset({"attempt", "judge", "judge-intake", "session"})


def own_threads() -> dict[str, int]:
    """The number of threads of open judges, by the name of their pool."""
    names = [thread.name.partition("_")[0] for thread in threading.enumerate()]
    return Counter(name for name in names if name in _POOLS)


@pytest.fixture(scope="session")
def provider() -> SandboxProvider:
    return local_provider()


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return small_task(tmp_path_factory.mktemp("task") / "small")


@pytest.fixture
def open_judge(provider: SandboxProvider, tmp_path: Path) -> Iterator[OpenJudge]:
    """Opens judges on the cache of the tests, with verdicts of their own."""
    opened: list[Judge] = []

    def judge(**arguments: object) -> Judge:
        """An open judge."""
        options = RunOptions(runs_dir=tmp_path / "runs", retries=0)
        given = {"sandbox": provider, "jobs": 2, "options": options, "use_verdicts": False}
        judge = Judge(**{**given, **arguments})
        judge.open()
        opened.append(judge)
        return judge

    yield judge
    for each in opened:
        each.close()
