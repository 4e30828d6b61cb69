"""The tags of behaviour hold for agents that have them by construction, and not for near misses."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentbench import RunOptions
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from agentbench.sandbox.interface import SandboxProvider
from tests.extensions.behaviour.corpora.agents import ROWS, Row
from tests.extensions.behaviour.corpora.attempts import TagCounts, attempt, count_tags, tags_found

MIN_PRECISION = 0.97
MIN_RECALL = 0.9
GATE = [pytest.param(row, id=row.name) for row in ROWS if row.in_gate]


def found_in(row: Row, provider: SandboxProvider, cache: Path, folder: Path) -> set[str]:
    run = attempt(row, provider, RunOptions(cache_dir=cache, retries=0), folder)
    return set(tags_found(run))


@pytest.mark.full
@pytest.mark.parametrize("row", GATE)
def test_agent_has_the_tags_of_what_it_did(
    row: Row, bubblewrap: BubblewrapProvider, cache_dir: Path, tmp_path: Path
) -> None:
    assert found_in(row, bubblewrap, cache_dir, tmp_path) == row.tags


@pytest.mark.soak
@pytest.mark.parametrize(
    "back_end", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)]
)
def test_tags_are_precise_and_complete(
    back_end: str, request: pytest.FixtureRequest, cache_dir: Path, tmp_path: Path
) -> None:
    provider = request.getfixturevalue(back_end)

    def work(numbered: tuple[int, Row]) -> set[str]:
        number, row = numbered
        return found_in(row, provider, cache_dir, tmp_path / str(number))

    # Attempts wait for sandboxes most of the time; other tests have the cores, too.
    with ThreadPoolExecutor(2 * len(os.sched_getaffinity(0))) as workers:
        found = dict(
            zip((row.name for row in ROWS), workers.map(work, enumerate(ROWS)), strict=True)
        )
    counts = count_tags(found, ROWS)
    table = [
        "tag                         expected found wrong missed",
        *map(TagCounts.line, counts),
    ]
    sys.stdout.write("\n".join(table) + "\n")  # pytest shows it with -rP, and on failure
    bad = [
        each.tag for each in counts if each.precision < MIN_PRECISION or each.recall < MIN_RECALL
    ]
    assert bad == []
