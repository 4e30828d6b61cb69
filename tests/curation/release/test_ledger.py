from agentbench.curation.history.ledger import Fate
from agentbench.curation.release.ledger import LEDGER, ReleaseEntry, add_entry


def test_entries_are_added_one_a_line(tmp_path):
    entries = [
        ReleaseEntry(package="demo", old="1.0", new="1.1", fate=Fate.KEPT, task="tasks/demo-1.1"),
        ReleaseEntry(package="other", fate=Fate.REJECTED, reasons=("no tests",)),
    ]
    for entry in entries:
        add_entry(tmp_path, entry)
    lines = (tmp_path / LEDGER).read_text().splitlines()
    assert [ReleaseEntry.model_validate_json(line) for line in lines] == entries


def test_a_pair_is_named_as_on_the_command_line():
    whole = ReleaseEntry(package="demo", old="1.0", new="1.1", fate=Fate.KEPT)
    assert whole.pair == "demo 1.0 1.1"
    assert ReleaseEntry(package="demo", fate=Fate.REJECTED).pair == "demo"
