"""The tags of real clients that follow a scripted model, by the calls of their own tools."""

from pathlib import Path

import pytest

from agentbench import RunOptions
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from tests.e2e.bench import Bench
from tests.extensions.behaviour.corpora.attempts import tags_found
from tests.extensions.behaviour.corpora.clients import CLIENT_ROWS, ClientRow
from tests.extensions.behaviour.corpora.store_task import write_task
from tests.fakes.scripted_model import by_turn
from tests.tiers import gate_and_soak

pytestmark = [pytest.mark.full, pytest.mark.first]


@pytest.mark.parametrize(
    "row", gate_and_soak([row for row in CLIENT_ROWS if row.in_gate], CLIENT_ROWS)
)
def test_client_has_the_tags_of_what_it_did(
    row: ClientRow, bubblewrap: BubblewrapProvider, cache_dir: Path, tmp_path: Path, trial
) -> None:
    options = RunOptions(runs_dir=tmp_path / "runs", cache_dir=cache_dir, retries=0)
    bench = Bench(provider=bubblewrap, options=options)
    task = write_task(tmp_path / "store", receipts=False, limits="timeout_s = 300")
    done = trial(bench, row.client, task, by_turn(row.answers))
    assert tags_found(done.folder.parents[2]) == row.tags, done.record.detail
