from agentbench.models.conversation import Conversation


def test_the_report_is_followed_by_a_word_on_what_was_left_out():
    whole = Conversation(system="s", task="the report")
    assert whole.opening == "the report"
    cut = Conversation(system="s", task="the report", left_out_turns=3)
    assert cut.opening == "the report\n\n[3 earlier steps were left out here to save room.]"
