from agentbench.tasks.dataset_rows import Rejection


def test_a_refusal_names_what_it_knows():
    whole = Rejection(where="a.jsonl:3", instance="x__y-1", field="patch", what="is empty")
    assert str(whole) == "a.jsonl:3: x__y-1: patch: is empty"
    assert str(Rejection(where="a.jsonl", what="is empty")) == "a.jsonl: is empty"
