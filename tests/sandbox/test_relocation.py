from agentbench.sandbox.trees import relocation


def test_relocation_changes_text_only() -> None:
    moved = relocation(old="/tmp/old", new="/tmp/new")
    assert moved(b"#!/tmp/old/venv/bin/python\n") == b"#!/tmp/new/venv/bin/python\n"
    assert moved(b"\0/tmp/old") == b"\0/tmp/old"
