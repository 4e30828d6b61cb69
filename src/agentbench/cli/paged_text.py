"""Prints a long text: in colour at a terminal, and in a pager if it is longer than the screen."""

import os
import re
import sys
from collections.abc import Callable

import typer

_STYLES = (
    (re.compile(r"resolved\b"), "bold green"),
    (re.compile(r"(failed|quarantined):"), "bold red"),
    (re.compile(r"\S"), "bold"),  # a heading
    (re.compile(r" +expected  "), "green"),
    (re.compile(r" +actual  "), "red"),
    (re.compile(r"  (\+\+\+|---|@@|diff )"), "bold"),
    (re.compile(r"  \+"), "green"),
    (re.compile(r"  -"), "red"),
)
# Quit if it fits, keep colours, leave the text on the screen; as git does.
_LESS_OPTIONS = "FRX"


def line_style(line: str) -> str:
    """The style of a line of an attempt's page. A line is complete without its style."""
    return next((style for pattern, style in _STYLES if pattern.match(line)), "")


def print_paged(text: str, *, pager: bool, style: Callable[[str], str] | None = None) -> None:
    """Print a text, styled line by line and in a pager if stdout is a terminal.

    Args:
        text: The text.
        pager: Whether a pager may be opened.
        style: The style of a line, in rich's words.
    """
    if not sys.stdout.isatty():
        typer.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, soft_wrap=True)
    lines = text.splitlines()
    styled = Text("\n").join(Text(line, style=style(line) if style else "") for line in lines)
    rows = sum(max(1, -(-Text(line).cell_len // console.width)) for line in lines)
    if not pager or rows < console.height:
        console.print(styled)
        return
    os.environ.setdefault("LESS", _LESS_OPTIONS)
    with console.pager(styles=console.color_system is not None):
        console.print(styled)
