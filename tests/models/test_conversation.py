from agentbench.models.conversation import Conversation


def test_opening_mentions_omitted_steps():
    whole = Conversation(system="s", task="the report")
    assert whole.opening == "the report"
    cut = Conversation(system="s", task="the report", left_out_turns=3)
    assert cut.opening == "the report\n\n[3 earlier steps were left out here to save room.]"
