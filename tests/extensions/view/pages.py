"""Saved pages of synthetic runs, read with a real parser."""

from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

from agentbench.extensions.view.saved_page import html_chunks
from agentbench.report.leaderboard import Entrant
from agentbench.report.reported_run import ReportedRun
from benchmarks.synthetic_run import Wanted, write_run

VOID = frozenset(
    {"meta", "br", "input", "link", "img", "hr", "base", "area", "col", "embed", "wbr"}
)


class Parsed(HTMLParser):
    """A page taken apart: its elements with their attributes, texts of each kind of element."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.rows: list[list[str]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []  # all that was opened was closed

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), f"an attribute twice: {attrs}"
        if tag not in VOID:
            self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] in {"style", "script"}:
            return
        self.text += data
        if {"td", "th"} & set(self._open):
            self.rows[-1][-1] += data

    @property
    def kinds(self) -> Counter[str]:
        """How many elements of each kind there are."""
        return Counter(tag for tag, _ in self.elements)


def made(runs_dir: Path, **wanted) -> Entrant:
    """A synthetic run, read as a report does."""
    return ReportedRun.read(write_run(Wanted(runs_dir=runs_dir, **wanted))).entrant


def page_of(*runs: Entrant) -> str:
    """The page of some runs."""
    return "".join(html_chunks(runs))
