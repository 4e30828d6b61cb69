import pytest

from agentbench.report.patch_lines import Frame, frames_of, touched_lines
from tests.e2e.small_task import patch_of

BEFORE = "".join(f"line {number}\n" for number in range(1, 31))
AFTER = BEFORE.replace("line 5\n", "new 5\nnew 6\n").replace("line 20\n", "")
PATCH = patch_of("src/model.py", BEFORE, AFTER).encode()
LONG = """\
    def test_it():
>       assert total([
            1]) == 2

tests/test_it.py:3:\x20
_ _ _ _ _
>       return prices[10]
               ^^^^^^^^^^
E       IndexError: list index out of range

src/model.py:5: IndexError"""
NATIVE = """\
Traceback (most recent call last):
  File "/workspace/src/model.py", line 6, in total
    new 6
    ^^^^^
ValueError: odd"""


def shown(touched):
    return [f"{line.path}:{line.line} {line.sign} {line.text}" for line in touched.lines]


def test_frames_of_pytest_come_with_the_line_that_it_marks():
    assert list(frames_of(LONG)) == [
        Frame(path="tests/test_it.py", line=3, text="assert total(["),
        Frame(path="src/model.py", line=5, text="return prices[10]"),
    ]


def test_frames_of_python_come_with_the_line_below():
    assert list(frames_of(NATIVE)) == [Frame(path="/workspace/src/model.py", line=6, text="new 6")]


@pytest.mark.parametrize(
    ("traceback", "lines"),
    [
        (LONG, ["src/model.py:5 + new 5"]),
        (NATIVE, ["src/model.py:6 + new 6"]),
        ("src/model.py:7: in f\n    other", ["src/model.py:7   line 6"]),
        ("src/model.py:15: in f\n    far()", ["src/model.py:15   far()"]),
    ],
)
def test_lines_of_the_patch_in_a_traceback_say_whether_they_are_new(traceback, lines):
    touched = touched_lines(PATCH, traceback)
    assert touched.in_traceback
    assert shown(touched) == lines


@pytest.mark.parametrize("traceback", ["", "other/model.py:5: in f", "model.py:5: in f"])
def test_without_a_frame_in_its_files_the_changed_places_of_a_patch_count(traceback):
    touched = touched_lines(PATCH, traceback)
    assert not touched.in_traceback
    assert shown(touched) == [
        "src/model.py:5 + new 5", "src/model.py:6 + new 6", "src/model.py:21 - line 20",
    ]  # fmt: skip
    assert touched.more == 0


def test_many_changed_lines_are_counted():
    patch = patch_of("a.py", "", "x = 1\n" * 20).encode()
    touched = touched_lines(patch, "")
    assert len(touched.lines) == 6
    assert touched.more == 14


def test_a_patch_that_is_empty_or_no_patch_touches_nothing():
    for patch in (b"", b"\xff\x00 no patch"):
        assert touched_lines(patch, LONG).lines == ()
