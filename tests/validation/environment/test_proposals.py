from agentbench.validation.environment.proposals import Proposal


def test_a_proposal_of_nothing_is_the_default_of_every_table():
    proposal = Proposal()
    assert proposal.setup.commands == ()
    assert proposal.tests.command == "python -m pytest"
    assert proposal.environment.image is None
