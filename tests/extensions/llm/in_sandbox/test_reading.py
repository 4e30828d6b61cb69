import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.extensions.llm.in_sandbox.paths import RefusedError
from agentbench.extensions.llm.in_sandbox.reading import MAX_ANSWER_LENGTH, read_file, shorten_line


@pytest.fixture
def file(tmp_path):
    """Puts bytes into a file `f`, and reads it."""

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
def test_what_lines_do_not_show_is_said(file, content, head):
    said = file(content)
    assert said.splitlines()[0].startswith(head)
    assert "\r" not in said


def test_an_empty_file_is_said_to_be_empty(file):
    assert file(b"") == "f is empty"


def test_lines_have_their_numbers_whatever_part_is_shown(file):
    content = "".join(f"line {number}\n" for number in range(1, 31)).encode()
    assert file(content, start_line=9, end_line=11).splitlines() == [
        "f: lines 9-11 of 30",
        "     9\tline 9",
        "    10\tline 10",
        "    11\tline 11",
    ]
    assert file(content, start_line=30, end_line=99).splitlines()[-1] == "    30\tline 30"


def test_a_start_past_the_end_is_refused(file):
    with pytest.raises(RefusedError, match="f ends with line 2; no line 3"):
        file(b"a\nb\n", start_line=3)


def test_a_long_file_is_shown_in_parts_that_join(file):
    content = "".join(f"{number} {'x' * 80}\n" for number in range(1, 2001)).encode()
    seen, start = 0, 1
    while start:
        said = file(content, start_line=start)
        assert len(said) < MAX_ANSWER_LENGTH + 200
        lines = said.splitlines()[1:]
        more = lines.pop() if lines[-1].startswith("[") else None
        seen += len(lines)
        start = int(more.rpartition("=")[2].rstrip("]")) if more else None
    assert seen == 2000


def test_a_long_line_is_cut_and_its_rest_counted(file):
    said = file(b"x" * 100_000)
    assert said.endswith("x[... 98000 more characters]")


@given(st.text(max_size=3_000))
def test_a_short_line_stays_as_it_is_and_no_line_is_long(line):
    assert shorten_line(line) == line if len(line) <= 2_000 else len(shorten_line(line)) < 2_100
