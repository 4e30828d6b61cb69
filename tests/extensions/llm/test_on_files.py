from pathlib import Path

from tests.extensions.llm.conftest import called


def test_a_file_is_made_read_searched_and_changed(sandbox):
    assert called(sandbox, "edit", path="a.py", old_text="", new_text="x = 1\n").text == (
        "a.py: written, 6 bytes"
    )
    assert called(sandbox, "read_file", path="a.py").text.endswith("     1\tx = 1")
    assert called(sandbox, "search", pattern="X", ignore_case=True).text == "a.py:1: x = 1"
    assert not called(sandbox, "edit", path="a.py", old_text="1", new_text="2").failed
    assert called(sandbox, "list_files").text == "a.py"
    assert Path(sandbox.workspace, "a.py").read_text() == "x = 2\n"


def test_an_end_before_the_start_is_refused(sandbox):
    reply = called(sandbox, "read_file", path="a.py", start_line=3, end_line=2)
    assert (reply.failed, reply.text) == (True, "end_line is before start_line")


def test_control_characters_of_a_file_are_shown(sandbox):
    Path(sandbox.workspace, "a").write_bytes(b"\x1b[1mbold\x07\r\n")
    assert called(sandbox, "read_file", path="a").text.endswith("     1\t\\x1b[1mbold\\x07")
