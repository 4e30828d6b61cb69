from agentbench.importers.history import CandidateOutcome
from agentbench.importers.release.release_import import ImportedPair


def test_a_pair_is_named_as_on_the_command_line():
    whole = ImportedPair(package="demo", old="1.0", new="1.1", fate=CandidateOutcome.KEPT)
    assert whole.pair == "demo 1.0 1.1"
    assert ImportedPair(package="demo", fate=CandidateOutcome.REJECTED).pair == "demo"
