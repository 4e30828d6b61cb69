import json
from dataclasses import replace

import pytest

from agentbench.importers.history import CandidateOutcome, FixSource, MiningSettings, mine
from agentbench.runs.options import RunOptions
from agentbench.validation.environment.proposals import Proposal
from agentbench.validation.environment.trials import EnvironmentFinder
from agentbench.validation.task_validation import ValidationSettings, read_proof
from tests.fakes.staging import local_provider, mirrors
from tests.validation.test_task_validation import follow


def mine_in(folder, pocket):
    """How to mine the pocket's history, with one attempt each."""
    options = RunOptions(sandbox=local_provider().name, runs_dir=folder / "runs", attempts=1)
    origin = FixSource(
        url=pocket.url,
        mirrors=mirrors(),
        environments=EnvironmentFinder(options, Proposal()),
        as_files=True,
    )
    gate = ValidationSettings(options=options, write_ids=True, record=True)
    return MiningSettings(origin=origin, out=folder / "out", gate=gate)


@pytest.fixture(scope="module")
def told(tmp_path_factory, pocket):
    return mine_in(tmp_path_factory.mktemp("mined"), pocket)


@pytest.fixture(scope="module")
def mined(told, head):
    """The entries of all of the history."""
    return mine(told, head, follow)


def test_history_gives_its_good_fixes_and_a_reason_for_every_other_commit(told, mined, pocket):
    entries = {entry.commit: entry for entry in mined}
    names = {commit: name for name, commit in pocket.commits.items()}
    fates = {names[commit]: entry.fate for commit, entry in entries.items()}
    assert fates == {
        **dict.fromkeys(pocket.commits, CandidateOutcome.REJECTED),
        "feature": CandidateOutcome.KEPT,  # its test fails before it, too, for lack of what it adds
        "fix": CandidateOutcome.KEPT,
    }
    assert all(
        entry.reasons for entry in entries.values() if entry.fate is CandidateOutcome.REJECTED
    )
    kept = [entry.task for entry in entries.values() if entry.task]
    assert all(read_proof(told.out / name).good for name in kept)
    assert {path.name for path in told.out.iterdir()} == {*kept, "mined.jsonl"}


def test_what_was_settled_is_not_tried_again(told, mined, head):
    lines = (told.out / "mined.jsonl").read_text()
    runs = set(told.gate.options.runs_dir.iterdir())
    assert len(mine(told, head, follow)) == len(mined) == 7
    assert (told.out / "mined.jsonl").read_text() == lines
    assert set(told.gate.options.runs_dir.iterdir()) == runs


def test_a_limit_bounds_what_is_tried(pocket, head, tmp_path):
    entries = mine(replace(mine_in(tmp_path, pocket), limit=1), head, follow)
    assert sum(entry.candidate for entry in entries) == 1


def test_every_line_of_the_ledger_says_why(told, mined):
    rows = [json.loads(line) for line in (told.out / "mined.jsonl").read_text().splitlines()]
    assert len(rows) == len(mined)
    assert all(row["reasons"] or row["task"] for row in rows)
