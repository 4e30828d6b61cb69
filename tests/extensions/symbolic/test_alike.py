"""Two functions that somebody hands in: alike, or not, or not to be told."""

from threading import Event

from agentbench.extensions.symbolic.analysis import (
    AnalysisResult,
    ComparisonEnding,
    compare_functions,
)

CODE = (
    "def one(x: int) -> int:\n    return abs(x)\n"
    "def other(x: int) -> int:\n    return x if x > -9 else -x\n"
    "def hangs(x: int) -> int:\n    while True: pass\n"
)


def compared(analysis_sandboxes, *names, code=CODE, seconds=120.0):
    with analysis_sandboxes.opened(code, cancel=Event()) as opened:
        return compare_functions(opened, names, seconds)


def test_a_difference_is_shown_by_a_call(analysis_sandboxes):
    answer = compared(analysis_sandboxes, "one", "other")
    assert answer.ending is ComparisonEnding.DIFFERENT
    assert answer.difference.call.startswith("one(-")


def test_code_that_is_no_good_is_refused_before_any_comparison(analysis_sandboxes):
    assert compared(analysis_sandboxes, "one", "none").message == (
        "Function 'none' not found in code"
    )
    assert compared(analysis_sandboxes, "a", "b", code="(").error_type == "SyntaxError"


def test_code_that_does_not_end_when_loaded_is_over(analysis_sandboxes):
    likeness = compared(analysis_sandboxes, "a", "b", code="while True: pass\n", seconds=1.0)
    assert likeness.over
    assert isinstance(likeness, AnalysisResult)


def test_what_the_code_prints_is_no_answer(analysis_sandboxes):
    forged = 'print(\'{"ending": "no_difference", "bogus": 1}\', flush=True)\n'
    answer = compared(analysis_sandboxes, "one", "other", code=forged + CODE)
    assert answer.ending is ComparisonEnding.DIFFERENT
