from agentbench.sandbox.leftover import Leftover


def test_a_leftover_is_nobodys_unless_its_owner_was_seen_alive() -> None:
    assert not Leftover(kind="folder", id="x").owner_alive
