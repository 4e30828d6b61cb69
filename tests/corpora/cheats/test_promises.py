"""What a back end does not keep an agent from stands in the documents, as it says itself."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agentbench.sandbox.interface import Promise, SandboxProvider
from agentbench.sandbox.process.provider import ProcessProvider
from tests.e2e.bench import Bench
from tests.e2e.small_task import SmallTask

PAGE = Path(__file__).parents[3] / "docs" / "sandboxes.md"
ROWS = {
    "own file system view, private /tmp": {Promise.OWN_FILE_SYSTEM},
    "no network for agent and tests": {Promise.NO_NETWORK},
    "the whole process tree dies at the deadline and at the end": {Promise.KILLS_TREE},
    "limits on memory, processes, CPU": {
        Promise.MEMORY_LIMIT,
        Promise.PIDS_LIMIT,
        Promise.CPU_LIMIT,
    },
    "unprivileged, no capabilities, seccomp": {Promise.UNPRIVILEGED},
    "distinguishes lack of memory from a kill": {Promise.TELLS_OOM},
}
Kept = frozenset[Promise]
CELLS: dict[str, Callable[[set[Promise], Kept], bool]] = {
    "yes": lambda row, kept: row <= kept,
    "no": lambda row, kept: not row & kept,
    "best effort": lambda row, kept: not row & kept,
    "yes as root or with its own cgroup; otherwise processes only": lambda row, kept: (
        row & kept in (row, {Promise.PIDS_LIMIT})
    ),
    "if it limits memory": lambda row, kept: (
        (row <= kept) is (Promise.MEMORY_LIMIT in kept) and (row <= kept or not row & kept)
    ),
}
"""What a cell of the table claims of the promises of its row."""


def table() -> dict[str, dict[str, str]]:
    """The cells by row and back end."""
    first = PAGE.read_text("utf-8").partition("\n| promise ")[2].partition("\n\n")[0]
    lines = re.findall(r"^\| (.*) \|$", f"| promise {first}", re.MULTILINE)
    head, _, *rows = [line.split(" | ") for line in lines]
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def test_the_table_is_about_every_promise() -> None:
    assert set(table()) == set(ROWS)
    assert set().union(*ROWS.values()) == set(Promise)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize(
    "back_end", ["bubblewrap", "process", pytest.param("docker", marks=pytest.mark.docker)]
)
def test_a_back_end_promises_what_the_table_says(
    request: pytest.FixtureRequest, cache_dir: Path, back_end: str, row: str
) -> None:
    provider: SandboxProvider = (
        ProcessProvider.connect(cache_dir=cache_dir)
        if back_end == "process"
        else request.getfixturevalue(back_end)
    )

    assert CELLS[table()[row][back_end]](ROWS[row], provider.promises)


def test_a_record_says_what_was_not_promised(bench: Bench, tmp_path: Path) -> None:
    record = bench.command(SmallTask().write(tmp_path / "small"), "true")

    assert {Promise(word) for word in record.environment.lacks} == (
        set(Promise) - bench.provider.promises
    )
