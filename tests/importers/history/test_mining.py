import pytest

from agentbench.errors import InputError
from agentbench.importers.history import CandidateOutcome, MinedCommit, MiningLog


def entry(commit="a", fate=CandidateOutcome.REJECTED, **more):
    return MinedCommit(commit=commit, subject="s", fate=fate, **more)


def test_what_is_written_down_is_known_the_next_time(tmp_path):
    MiningLog(tmp_path / "out").add(entry("a", reasons=("why",)))
    MiningLog(tmp_path / "out").add(entry("b", CandidateOutcome.UNDECIDED))
    ledger = MiningLog(tmp_path / "out")
    assert ledger.entries["a"].reasons == ("why",)
    assert ledger.is_settled("a")
    assert not ledger.is_settled("b")
    assert not ledger.is_settled("c")


def test_the_last_entry_of_a_commit_holds(tmp_path):
    ledger = MiningLog(tmp_path)
    ledger.add(entry("a", CandidateOutcome.UNDECIDED))
    ledger.add(entry("a", CandidateOutcome.KEPT, task="t"))
    assert MiningLog(tmp_path).entries["a"].task == "t"


def test_a_line_that_was_cut_off_costs_that_line_alone(tmp_path):
    MiningLog(tmp_path).add(entry("a"))
    with (tmp_path / "mined.jsonl").open("a") as file:
        file.write('{"commit": "b", "su')
    assert list(MiningLog(tmp_path).entries) == ["a"]


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "mined.jsonl").write_text('{"x": 1}\n')
    with pytest.raises(InputError, match=r"mined\.jsonl:1: is not a line of `tasks mine`"):
        MiningLog(tmp_path)
