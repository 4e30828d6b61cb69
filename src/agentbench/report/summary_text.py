"""A summary at a terminal."""

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from agentbench.report.figures import judged_title, summary_lines
from agentbench.report.harmless import harmless
from agentbench.report.summary import Summary


def print_summary(summary: Summary, console: Console, *, title: str = "") -> None:
    """Both denominators side by side, and what a resolved attempt took.

    `title` names the agent if there are several.
    """
    if title:
        console.print(harmless(title), highlight=False, markup=False, soft_wrap=True)
    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("", "all attempts", judged_title(summary)):
        table.add_column(title, overflow="fold")
    for line in summary_lines(summary):
        table.add_row(*line)
    console.print(table)
