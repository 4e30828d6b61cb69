from agentbench.sandbox.cleanup import Orphan


def test_a_leftover_is_nobodys_unless_its_owner_was_seen_alive() -> None:
    assert not Orphan(kind="folder", id="x").owner_alive
