import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentbench.extensions.llm.in_sandbox.editing import answer, edit, replace_text
from agentbench.extensions.llm.in_sandbox.paths import RefusedError

TEXTS = st.text(alphabet="ab \n\tü.*(", max_size=30)
PARTS = st.text(alphabet="ab \n\tü.*(", min_size=1, max_size=5)
WITHIN = st.tuples(TEXTS, PARTS, TEXTS).map(lambda parts: ("".join(parts), parts[1]))


def once(text, old, new, *, replace_all=False):
    return replace_text(text, old, new, replace_all=replace_all)


def starts(text, old):
    """Where it occurs, counted by hand; overlaps too."""
    return [at for at in range(len(text)) if text.startswith(old, at)]


@given(TEXTS, PARTS, TEXTS)
def test_what_occurs_once_is_replaced_to_the_letter(text, old, new):
    assume(old != new)
    if len(starts(text, old)) == 1:
        assert once(text, old, new) == (text.replace(old, new, 1), 1)
    else:
        with pytest.raises(RefusedError):
            once(text, old, new)


@given(WITHIN, PARTS)
def test_a_replacement_can_be_taken_back(within, new):
    text, old = within
    assume(old != new and len(starts(text, old)) == 1)
    after, _ = once(text, old, new)
    if len(starts(after, new)) == 1:
        assert once(after, new, old) == (text, 1)


@given(WITHIN, TEXTS)
def test_all_of_them_are_replaced_from_left_to_right(within, new):
    text, old = within
    assume(old != new)
    assert once(text, old, new, replace_all=True) == (text.replace(old, new), text.count(old))


@given(WITHIN, TEXTS)
def test_a_file_with_crlf_is_edited_as_the_same_file_without(within, new):
    text, old = f"{within[0]}\nend\n", within[1]
    assume(old != new and len(starts(text, old)) == 1)
    after, _ = once(text, old, new)
    assert once(text.replace("\n", "\r\n"), old, new) == (after.replace("\n", "\r\n"), 1)


@pytest.mark.parametrize(
    ("text", "old", "told"),
    [
        ("a\nb\n", "c", "old_text does not occur in the file"),
        ("  a\n  b\n", "a\nb", "with other white space it does"),
        ("a\nb\na\n", "a", r"occurs 2 times \(from lines 1, 3\)"),
        ("aaa", "aa", r"occurs 2 times \(from lines 1, 1\)"),
        ("x\n" * 30, "x", r"occurs 30 times \(from lines 1, 2, 3, .*10, …\)"),
        ("a", "n", "does not occur"),
        ("a\r\nb\n", "n", "does not occur"),
    ],
)
def test_what_is_wrong_is_said(text, old, told):
    with pytest.raises(RefusedError, match=told):
        once(text, old, "n\n")


def test_to_replace_a_text_by_itself_is_a_mistake():
    with pytest.raises(RefusedError, match="are the same"):
        once("a", "a", "a")


def test_where_line_endings_are_mixed_the_letter_counts_before_the_look():
    assert once("a\nb\r\na\r\nb\r\n", "a\nb", "c") == ("c\r\na\r\nb\r\n", 1)
    assert once("a\r\nb\nc\n", "a\nb\nc", "x\ny") == ("x\ny\n", 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"x = 1\n", b"x = 2\n"),
        (b"x = 1", b"x = 2"),
        (b"x = 1\r\ny\r\n", b"x = 2\r\ny\r\n"),
        (b"\xff\xfe x = 1 \x80\n", b"\xff\xfe x = 2 \x80\n"),
        (b"\xef\xbb\xbfx = 1\n", b"\xef\xbb\xbfx = 2\n"),
        ("ü = 'é'; x = 1".encode("latin-1"), "ü = 'é'; x = 2".encode("latin-1")),
    ],
)
def test_every_other_byte_of_a_file_stays(tmp_path, before, after):
    (tmp_path / "f").write_bytes(before)
    assert edit(str(tmp_path), "f", "x = 1", "x = 2") == "f: replaced 1 occurrence"
    assert (tmp_path / "f").read_bytes() == after


def test_the_mode_of_a_file_stays(tmp_path):
    (tmp_path / "f").write_text("a")
    (tmp_path / "f").chmod(0o755)
    edit(str(tmp_path), "f", "a", "b")
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o755
    assert [file.name for file in tmp_path.iterdir()] == ["f"]


def test_no_old_text_makes_a_new_file_with_its_folders(tmp_path):
    said = edit(str(tmp_path), "deep/er/new.py", "", "x = 'ü'\n")
    assert said == "deep/er/new.py: written, 9 bytes"
    assert (tmp_path / "deep" / "er" / "new.py").read_text() == "x = 'ü'\n"


def test_no_old_text_fills_an_empty_file_and_spares_a_full_one(tmp_path):
    (tmp_path / "f").touch()
    edit(str(tmp_path), "f", "", "a\n")
    with pytest.raises(RefusedError, match="already exists"):
        edit(str(tmp_path), "f", "", "b\n")
    assert (tmp_path / "f").read_text() == "a\n"


def test_several_occurrences_are_counted(tmp_path):
    (tmp_path / "f").write_text("a a a")
    assert edit(str(tmp_path), "f", "a", "b", replace_all=True) == "f: replaced 3 occurrences"


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
