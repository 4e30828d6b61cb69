import json

import pytest

from agentbench.extensions.llm.in_sandbox.editing import answer


def told(task, root, **given):
    said = answer(task, str(root), given)
    assert said.isascii()
    return json.loads(said)


def test_what_was_done_and_what_was_refused_are_told_apart(tmp_path):
    (tmp_path / "f").write_text("ü\n")
    assert told("read_file", tmp_path, path="f") == {"text": "f: lines 1-1 of 1\n     1\tü"}
    assert told("read_file", tmp_path, path="..") == {
        "error": ".. leads out of the workspace; give a path inside it"
    }


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("nowhere", "there is no nowhere"),
        ("f/x", "f/x: Not a directory"),
        ("a" * 300, f"{'a' * 300}: File name too long"),
    ],
)
def test_what_the_system_refuses_is_told_with_its_reason(tmp_path, path, error):
    (tmp_path / "f").touch()
    assert told("read_file", tmp_path, path=path) == {"error": error}
