"""A summary at a terminal."""

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from agentbench.report.figures import judged_title, summary_lines
from agentbench.report.summary import Summary


def print_summary(summary: Summary, console: Console) -> None:
    """Both denominators side by side, and what a resolved attempt took."""
    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("", "all attempts", judged_title(summary)):
        table.add_column(title, overflow="fold")
    for line in summary_lines(summary):
        table.add_row(*line)
    console.print(table)
