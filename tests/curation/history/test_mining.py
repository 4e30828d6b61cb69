import json
from dataclasses import replace

import pytest

from agentbench.curation.gate import GateSettings
from agentbench.curation.history.ledger import Fate
from agentbench.curation.history.mining import Mine, mine
from agentbench.curation.kept_proof import read_proof
from tests.curation.test_gate import follow


@pytest.fixture
def told(origin, options, tmp_path):
    gate = GateSettings(options=options, write_ids=True, record=True)
    return Mine(origin=origin, out=tmp_path / "out", gate=gate)


def test_history_gives_its_good_fixes_and_a_reason_for_every_other_commit(told, head, pocket):
    entries = {entry.commit: entry for entry in mine(told, head, follow)}
    names = {commit: name for name, commit in pocket.commits.items()}
    fates = {names[commit]: entry.fate for commit, entry in entries.items()}
    assert fates == {
        **dict.fromkeys(pocket.commits, Fate.REJECTED),
        "feature": Fate.KEPT,  # its test fails before it, too, for lack of what it adds
        "fix": Fate.KEPT,
    }
    assert all(entry.reasons for entry in entries.values() if entry.fate is Fate.REJECTED)
    kept = [entry.task for entry in entries.values() if entry.task]
    assert all(read_proof(told.out / name).good for name in kept)
    assert {path.name for path in told.out.iterdir()} == {*kept, "mined.jsonl"}


def test_what_was_settled_is_not_tried_again(told, head):
    mine(told, head, follow)
    lines = (told.out / "mined.jsonl").read_text()
    runs = set(told.gate.options.runs_dir.iterdir())
    assert len(mine(told, head, follow)) == 7
    assert (told.out / "mined.jsonl").read_text() == lines
    assert set(told.gate.options.runs_dir.iterdir()) == runs


def test_a_limit_bounds_what_is_tried(told, head):
    entries = mine(replace(told, limit=1), head, follow)
    assert sum(entry.candidate for entry in entries) == 1


def test_every_line_of_the_ledger_says_why(told, head):
    mine(told, head, follow)
    rows = [json.loads(line) for line in (told.out / "mined.jsonl").read_text().splitlines()]
    assert all(row["reasons"] or row["task"] for row in rows)
