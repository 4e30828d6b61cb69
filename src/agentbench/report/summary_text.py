"""A summary at a terminal."""

from rich.console import Console

from agentbench.report.figures import judged_title, summary_lines
from agentbench.report.harmless import harmless
from agentbench.report.summary import Summary
from agentbench.report.text_table import Column, print_rows, print_text


def print_summary(summary: Summary, console: Console, *, title: str = "") -> None:
    """Both denominators side by side, and what a resolved attempt took.

    `title` names the agent if there are several.
    """
    console.print()
    if title:
        print_text(harmless(title), console)
    columns = [Column(name=name) for name in ("", "all attempts", judged_title(summary))]
    print_rows(columns, list(summary_lines(summary)), console)
