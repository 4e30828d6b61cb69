from agentbench.importers.history import CandidateOutcome
from agentbench.importers.release.release_import import RELEASE_LOG, ImportedPair, append_pair


def test_entries_are_added_one_a_line(tmp_path):
    entries = [
        ImportedPair(
            package="demo", old="1.0", new="1.1", fate=CandidateOutcome.KEPT, task="tasks/demo-1.1"
        ),
        ImportedPair(package="other", fate=CandidateOutcome.REJECTED, reasons=("no tests",)),
    ]
    for entry in entries:
        append_pair(tmp_path, entry)
    lines = (tmp_path / RELEASE_LOG).read_text().splitlines()
    assert [ImportedPair.model_validate_json(line) for line in lines] == entries


def test_a_pair_is_named_as_on_the_command_line():
    whole = ImportedPair(package="demo", old="1.0", new="1.1", fate=CandidateOutcome.KEPT)
    assert whole.pair == "demo 1.0 1.1"
    assert ImportedPair(package="demo", fate=CandidateOutcome.REJECTED).pair == "demo"
