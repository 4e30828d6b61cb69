import ast
import json
import os
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentbench.extensions.llm import in_sandbox
from agentbench.extensions.llm.in_sandbox import (
    FILE_FLAGS,
    FOLDER_FLAGS,
    MAX_ANSWER_LENGTH,
    SIZE_LIMIT,
    RefusedError,
    answer,
    edit,
    open_below,
    parts_below,
    printable,
    read_file,
    read_text_file,
    replace_text,
    shorten_line,
    write_file,
)

TEXTS = st.text(alphabet="ab \n\tü.*(", max_size=30)
PARTS = st.text(alphabet="ab \n\tü.*(", min_size=1, max_size=5)
WITHIN = st.tuples(TEXTS, PARTS, TEXTS).map(lambda parts: ("".join(parts), parts[1]))


def test_source_is_valid_for_the_oldest_python_of_a_sandbox():
    ast.parse(Path(in_sandbox.__file__).read_text(), feature_version=(3, 7))


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "space"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "f").write_text("inside")
    (tmp_path / "secret").write_text("outside")
    (tmp_path / "space2").mkdir()
    (folder / "in").symlink_to("a/f")
    (folder / "out").symlink_to("../secret")
    (folder / "up").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    (folder / "absolute").symlink_to(tmp_path / "secret")
    (folder / "dangling").symlink_to("../nowhere/new")
    return str(folder)


LEAVING = [
    "../secret",
    "a/../../secret",
    "out",
    "up/secret",
    "absolute",
    "dangling",
    "/etc/passwd",
    "/",
    "..",
    "../space2/x",
    "a/../../space2",
    "//etc/passwd",
    "/proc/self/../../etc/passwd",
]


@pytest.mark.parametrize("path", LEAVING)
def test_path_out_of_the_workspace_is_refused(root, path, tmp_path):
    for use in (lambda: parts_below(root, path), lambda: read_text_file(root, path)):
        with pytest.raises(RefusedError, match="leads out of the workspace"):
            use()
    with pytest.raises(RefusedError, match="leads out of the workspace"):
        write_file(root, path, b"x")
    assert (tmp_path / "secret").read_text() == "outside"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("path", ["a/f", "in", "./a//f", "a/../a/f", "up/space/a/f"])
def test_path_that_stays_inside_is_read(root, path):
    assert read_text_file(root, path) == b"inside"


def test_absolute_path_inside_is_accepted(root):
    assert parts_below(root, f"{root}/a/f") == ("a", "f")
    assert parts_below(root, root) == parts_below(root, ".") == parts_below(root, "") == ()


def test_write_through_a_link_changes_its_target(root):
    write_file(root, "in", b"new")
    assert read_text_file(root, "a/f") == b"new"
    assert Path(root, "in").is_symlink()


@pytest.mark.parametrize("part", ["a", "a/f"])
def test_link_swapped_in_after_resolution_is_not_followed(root, part):
    parts = parts_below(root, "a/f")
    Path(root, part).rename(Path(root, "moved"))
    Path(root, part).symlink_to(Path(root, "moved"))
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        open_below(root, parts, FILE_FLAGS)
    if part == "a":
        with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
            open_below(root, parts[:-1], FOLDER_FLAGS, make=True)


def test_file_that_is_no_text_is_refused_with_its_kind(root):
    with pytest.raises(RefusedError, match="a is a folder; `ls`"):
        read_text_file(root, "a")
    os.mkfifo(f"{root}/pipe")
    with pytest.raises(RefusedError, match="pipe is not a regular file"):
        read_text_file(root, "pipe")
    write_file(root, "image", b"\x89PNG\0\0")
    with pytest.raises(RefusedError, match="image is a binary file of 6 bytes"):
        read_text_file(root, "image")
    Path(root, "large").touch()
    os.truncate(f"{root}/large", SIZE_LIMIT + 1)
    with pytest.raises(RefusedError, match=f"large has {SIZE_LIMIT + 1} bytes, more than"):
        read_text_file(root, "large")
    with pytest.raises(RefusedError, match="NUL"):
        read_text_file(root, "a\0b")
    with pytest.raises(RefusedError, match="the workspace itself is no file"):
        write_file(root, ".", b"")


def test_loop_of_links_raises_os_error(root):
    with pytest.raises(OSError, match="Too many levels"):
        read_text_file(root, "loop")


def test_failed_write_leaves_no_draft(root):
    Path(root, "folder").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        write_file(root, "folder", b"x")
    assert not list(Path(root).glob(".agentbench*"))


def test_name_is_printed_on_one_line():
    assert printable("ü.py") == "ü.py"
    assert printable("a\nb") == r"'a\nb'"
    assert printable(os.fsdecode(b"\xff")) == r"'\udcff'"


@pytest.fixture
def file(tmp_path):
    def read(content, **given):
        (tmp_path / "f").write_bytes(content)
        return read_file(str(tmp_path), "f", **given)

    return read


@pytest.mark.parametrize(
    ("content", "head"),
    [
        (b"a\nb\n", "f: lines 1-2 of 2"),
        (b"a\nb", "f: lines 1-2 of 2, no newline at the end"),
        (b"a\r\nb\r\n", "f: lines 1-2 of 2, CRLF line endings, which edit keeps"),
        (b"a\r\nb\n", "f: lines 1-2 of 2, line endings mixed"),
        (b"a\n\xff\n", "f: lines 1-2 of 2, no UTF-8 from byte 2 on, shown as U+FFFD and kept"),
        (b"\n", "f: lines 1-1 of 1"),
        (b"\n\n", "f: lines 1-2 of 2"),
    ],
)
def test_first_line_names_line_ends_and_encoding(file, content, head):
    text = file(content)
    assert text.splitlines()[0].startswith(head)
    assert "\r" not in text


def test_empty_file_is_reported_as_empty(file):
    assert file(b"") == "f is empty"


def test_lines_keep_their_numbers_in_a_part(file):
    content = "".join(f"line {number}\n" for number in range(1, 31)).encode()
    assert file(content, start_line=9, end_line=11).splitlines() == [
        "f: lines 9-11 of 30",
        "     9\tline 9",
        "    10\tline 10",
        "    11\tline 11",
    ]
    assert file(content, start_line=30, end_line=99).splitlines()[-1] == "    30\tline 30"


def test_start_past_the_end_is_refused(file):
    with pytest.raises(RefusedError, match="f ends with line 2; no line 3"):
        file(b"a\nb\n", start_line=3)


def test_long_file_is_read_in_parts(file):
    content = "".join(f"{number} {'x' * 80}\n" for number in range(1, 2001)).encode()
    seen, start = 0, 1
    while start:
        text = file(content, start_line=start)
        assert len(text) < MAX_ANSWER_LENGTH + 200
        lines = text.splitlines()[1:]
        more = lines.pop() if lines[-1].startswith("[") else None
        seen += len(lines)
        start = int(more.rpartition("=")[2].rstrip("]")) if more else None
    assert seen == 2000


def test_long_line_is_shortened(file):
    text = file(b"x" * 100_000)
    assert text.endswith("x[... 98000 more characters]")


@given(st.text(max_size=3_000))
def test_line_length_is_bounded(line):
    assert shorten_line(line) == line if len(line) <= 2_000 else len(shorten_line(line)) < 2_100


def once(text, old, new, *, replace_all=False):
    return replace_text(text, old, new, replace_all=replace_all)


def starts(text, old):
    return [at for at in range(len(text)) if text.startswith(old, at)]


@given(TEXTS, PARTS, TEXTS)
def test_single_occurrence_is_replaced(text, old, new):
    assume(old != new)
    if len(starts(text, old)) == 1:
        assert once(text, old, new) == (text.replace(old, new, 1), 1)
    else:
        with pytest.raises(RefusedError):
            once(text, old, new)


@given(WITHIN, PARTS)
def test_replacement_is_reversible(within, new):
    text, old = within
    assume(old != new and len(starts(text, old)) == 1)
    after, _ = once(text, old, new)
    if len(starts(after, new)) == 1:
        assert once(after, new, old) == (text, 1)


@given(WITHIN, TEXTS)
def test_replace_all_goes_from_left_to_right(within, new):
    text, old = within
    assume(old != new)
    assert once(text, old, new, replace_all=True) == (text.replace(old, new), text.count(old))


@given(WITHIN, TEXTS)
def test_crlf_file_is_edited_like_one_with_lf(within, new):
    text, old = f"{within[0]}\nend\n", within[1]
    assume(old != new and len(starts(text, old)) == 1)
    after, _ = once(text, old, new)
    assert once(text.replace("\n", "\r\n"), old, new) == (after.replace("\n", "\r\n"), 1)


@pytest.mark.parametrize(
    ("text", "old", "message"),
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
def test_failed_replacement_names_the_reason(text, old, message):
    with pytest.raises(RefusedError, match=message):
        once(text, old, "n\n")


def test_equal_texts_are_refused():
    with pytest.raises(RefusedError, match="are the same"):
        once("a", "a", "a")


def test_exact_match_wins_with_mixed_line_endings():
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
def test_edit_keeps_all_other_bytes(tmp_path, before, after):
    (tmp_path / "f").write_bytes(before)
    assert edit(str(tmp_path), "f", "x = 1", "x = 2") == "f: replaced 1 occurrence"
    assert (tmp_path / "f").read_bytes() == after


def test_edit_keeps_the_mode(tmp_path):
    (tmp_path / "f").write_text("a")
    (tmp_path / "f").chmod(0o755)
    edit(str(tmp_path), "f", "a", "b")
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o755
    assert [file.name for file in tmp_path.iterdir()] == ["f"]


def test_empty_old_text_creates_a_file_with_its_folders(tmp_path):
    text = edit(str(tmp_path), "deep/er/new.py", "", "x = 'ü'\n")
    assert text == "deep/er/new.py: written, 9 bytes"
    assert (tmp_path / "deep" / "er" / "new.py").read_text() == "x = 'ü'\n"


def test_empty_old_text_fills_only_an_empty_file(tmp_path):
    (tmp_path / "f").touch()
    edit(str(tmp_path), "f", "", "a\n")
    with pytest.raises(RefusedError, match="already exists"):
        edit(str(tmp_path), "f", "", "b\n")
    assert (tmp_path / "f").read_text() == "a\n"


def test_replaced_occurrences_are_counted(tmp_path):
    (tmp_path / "f").write_text("a a a")
    assert edit(str(tmp_path), "f", "a", "b", replace_all=True) == "f: replaced 3 occurrences"


def answered(task, root, **given):
    text = answer(task, str(root), given)
    assert text.isascii()
    return json.loads(text)


def test_answer_has_text_or_error(tmp_path):
    (tmp_path / "f").write_text("ü\n")
    assert answered("read_file", tmp_path, path="f") == {"text": "f: lines 1-1 of 1\n     1\tü"}
    assert answered("read_file", tmp_path, path="..") == {
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
def test_os_error_is_reported_with_its_reason(tmp_path, path, error):
    (tmp_path / "f").touch()
    assert answered("read_file", tmp_path, path=path) == {"error": error}
