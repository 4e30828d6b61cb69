"""The program's tables at terminals of every width, and in a pipe."""

import os
import re
import sys

import pytest
from rich.cells import cell_len

from agentbench.cli.app import app
from agentbench.runs.store.store import RunStore
from tests.cli.conftest import call
from tests.cli.pseudo_terminal import pseudo_terminal
from tests.runs.records import configuration, failed, lost, resolved

WIDTHS = (40, 60, 80, 100)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_BREAKABLE = 28  # characters: a longer word may be broken in a terminal of 40 columns


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory):
    """Two runs whose every column says something, some of it long."""
    folder = tmp_path_factory.mktemp("runs")
    for name, model in (("20260102T120000-abcd", "openai/gpt-5"), ("20260103T120000-efgh", None)):
        store = RunStore.create(
            folder, configuration(run_id=name, attempts=2, agent="llm", model=model)
        )
        detail = "expected 3 and found 4 in tests/test_cache.py, which asks for an expiry in time"
        for number, make in enumerate((resolved, failed, lost)):
            for attempt in (1, 2):
                record = make(
                    run_id=name, task_id=f"lru-expiry-{number}", attempt=attempt, agent="llm",
                    model=model, **({} if make is resolved else {"detail": detail}),
                )  # fmt: skip
                store.append(record, store.attempt_folder(record.task_id, attempt)[0])
    return folder


@pytest.fixture
def terminal(monkeypatch):
    """Calls the program with stdout at a terminal of a width, and returns what that shows."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    def shown(width, *arguments):
        with (
            pseudo_terminal(columns=width, rows=50) as (slave, parts),
            monkeypatch.context() as patch,
            os.fdopen(slave, "w", encoding="utf-8", closefd=False) as stdout,
        ):
            patch.setattr(sys, "stdout", stdout)
            app([str(each) for each in arguments], standalone_mode=False)
        return _ESCAPES.sub("", b"".join(parts).decode()).replace("\r\n", "\n")

    return shown


def words(text):
    """The words of a text, without the punctuation that layouts put between them."""
    return {
        word
        for each in text.split()
        if (word := each.strip(":,\u00b7\u2500")) and len(word) <= _BREAKABLE
    }


COMMANDS = {
    "report": ("report", "20260102T120000-abcd"),
    "leaderboard": ("report", "20260102T120000-abcd", "20260103T120000-efgh"),
    "compare": ("compare", "20260102T120000-abcd", "20260103T120000-efgh"),
    "agents": ("agents", "list"),
    "tasks": ("tasks", "list"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_width_cuts_or_leaves_out_what_a_pipe_gets(name, runs_dir, tasks, terminal, capsys):
    more = {"agents": (), "tasks": (tasks,)}.get(name, ("--runs-dir", runs_dir))
    piped = call(*COMMANDS[name], *more).stdout
    assert words(piped)
    for width in WIDTHS:
        text = terminal(width, *COMMANDS[name], *more)
        assert words(piped) <= words(text), width
        assert max(map(cell_len, text.splitlines())) <= width
        few = [line for line in text.splitlines() if 0 < len(line.strip()) <= 3]
        assert len(few) <= 6, f"{width}: text from top to bottom: {few}"
    capsys.readouterr()


@pytest.mark.parametrize("columns", ["", "40"])
def test_in_a_pipe_an_attempt_is_one_line_with_its_whole_detail(runs_dir, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    text = call("report", *COMMANDS["leaderboard"][1:], "--runs-dir", runs_dir).stdout
    lines = [line for line in text.splitlines() if "TESTS_FAILED" in line and "2026" in line]
    assert len([line for line in lines if line.rstrip().endswith("expiry in time")]) == 4


def test_a_file_is_written_as_wide_as_it_has_to_be(runs_dir, tmp_path):
    path = tmp_path / "report.txt"
    assert call("report", "last", "--runs-dir", runs_dir, "--output", path).code == 0
    assert "asks for an expiry in time\n" in path.read_text()
