import io

from rich.console import Console

from agentbench.report.summary import ResultSummary
from agentbench.report.text_reports import print_summary
from tests.report.several import attempts


def test_both_denominators_stand_side_by_side_at_a_terminal():
    buffer = io.StringIO()
    console = Console(file=buffer, width=140, color_system=None)
    print_summary(ResultSummary.of(attempts("a", "r", "f", "l")), console)
    text = buffer.getvalue()
    (line,) = [line for line in text.splitlines() if line.strip().startswith("resolved")]
    assert "1/3 (33.3 %" in line
    assert "1/2 (50.0 %" in line
    assert "excluding task and infrastructure errors (1)" in text


def test_a_narrow_terminal_folds_it_and_loses_nothing():
    buffer = io.StringIO()
    print_summary(
        ResultSummary.of(attempts("a", "rf", "fl")),
        Console(file=buffer, width=40, color_system=None),
    )
    assert max(map(len, buffer.getvalue().splitlines())) <= 40
    assert "pass^2" in buffer.getvalue()
