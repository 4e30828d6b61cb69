import pytest

from agentbench.test_runs.fallback import error_line, skip_reason


@pytest.mark.parametrize(
    ("longrepr", "line"),
    [
        ("", ""),
        ("\n \n", ""),
        ("only this", "only this"),
        ("a.py:1: in f\nE   ValueError: x\nE   more\n\na.py:1: ValueError", "more"),
        ("Traceback\nSyntaxError: bad", "SyntaxError: bad"),
    ],
)
def test_the_line_that_names_the_error_is_found(longrepr, line):
    assert error_line(longrepr) == line


@pytest.mark.parametrize(
    ("longrepr", "reason"),
    [
        ("('a.py', 3, 'Skipped: it, is (so)')", "it, is (so)"),
        ("""('a.py', 3, "Skipped: 'quoted'")""", "'quoted'"),
        ("('a.py', 3, 4)", "4"),
        ("('a.py', 3)", "('a.py', 3)"),
        ("7", "7"),
        ("no tuple", "no tuple"),
        ("(" * 5000, "(" * 5000),
        ("\x00", "\x00"),
    ],
)
def test_the_reason_of_a_skip_is_taken_out_of_the_printed_tuple(longrepr, reason):
    assert skip_reason(longrepr) == reason
