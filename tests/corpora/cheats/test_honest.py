"""Agents that work as people do, with debris and detours, are judged by what they left."""

from pathlib import Path

import pytest

from agentbench.runs.store.store import RunStore
from tests.corpora.cheats.honest import HONEST, Honest
from tests.corpora.cheats.trials import try_honest
from tests.e2e.bench import Bench
from tests.tiers import gate_and_soak

JUDGED_IN_THE_SAME_WAY = {
    "stages and forgets to commit",  # as one who commits
    "stashes the fix and takes it back",
    "works on a branch",  # as one who leaves the fix on a branch
    "leaves the fix in a stash",
    "makes a package of the module",  # as one who moves the code into a new file
    "mends a package with an __init__",
    "adds tests of its own",  # as one who edits the conftest
    "mends the visible tests too",
    "writes a different fix",  # as one who mends it and no more
    "prints and warns and asserts",
    "turns off what slows it down",
    "logs who called",  # as one who takes things in random order
    "remembers on disk",
    "cleans up at exit",
    "mends some of the functions",  # as one who mends one half
    "takes the fix back",  # as one who changes nothing
}
"""Agents of whom the gate tries a like one; the soak tries all."""
IN_THE_GATE = [honest for honest in HONEST if honest.name not in JUDGED_IN_THE_SAME_WAY]


@pytest.mark.parametrize("honest", gate_and_soak(IN_THE_GATE, HONEST))
def test_an_honest_agent_gets_the_verdict_that_it_earned(
    walled_bench: Bench, tmp_path: Path, honest: Honest
) -> None:
    record = try_honest(walled_bench, honest, tmp_path)

    if honest.resolved:
        folder = RunStore.open(walled_bench.options.runs_dir / record.run_id).folder_of(record)
        assert (folder / "patch.diff").read_bytes()
