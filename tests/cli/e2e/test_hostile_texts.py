"""What agents wrote, through every command that shows it: the terminal stays whole."""

import csv
import io
import re
import unicodedata

import pytest
from rich.cells import cell_len
from rich.console import Console

from agentbench.report.formats import print_table
from agentbench.report.reported_run import ReportedRun
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from benchmarks.synthetic_run import Wanted, write_run
from tests.cli.conftest import call
from tests.hostile_texts import HOSTILE

TASKS = 45  # each text is in each field of some attempt
STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs whose every text is hostile."""
    runs_dir = tmp_path_factory.mktemp("runs")
    return [
        write_run(
            Wanted(
                runs_dir=runs_dir, tasks=TASKS, agent=agent, seed=seed, folders=True, texts=HOSTILE
            )
        )
        for seed, agent in ((1, HOSTILE[35]), (2, HOSTILE[36]))
    ]


def steering(text):
    """The characters that steer a terminal, turn text around or end a line unseen."""
    return {char for char in text if unicodedata.category(char) in STEERING} - {"\n"}


def said(*arguments):
    """All that a command prints; it may find fault, but not fail."""
    done = call(*arguments)
    assert done.code in (0, 1), done.stderr
    return done.stdout + done.stderr


def test_the_runs_are_hostile(runs):
    texts = [record.model_dump_json() for record in read_run(runs[0]).records()]
    for marker in ("alert(1)", "\\u001b", "[bold red]", "=HYPERLINK", "\\u202e"):
        assert any(marker in text for text in texts), marker


@pytest.mark.parametrize("format_name", ["table", "json", "csv", "markdown", "junit"])
def test_no_report_steers_the_terminal(runs, format_name):
    for chosen in (runs[:1], runs):
        text = said("report", *chosen, "--format", format_name)
        assert steering(text) == set()
        assert len(text) > 1_000


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_no_attempt_steers_the_terminal(runs, more):
    for record in RunStore(runs[0]).latest():
        text = said("show", runs[0], record.task_id, record.attempt, *more)
        assert steering(text) <= {"\t"}
        assert record.task_id in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", 0, 1],
        ["compare", 0, 1, "--format", "json"],
        ["compare", 0, 1, "--format", "markdown"],
        ["rescore", 0],
        ["rescore", 0, "--json"],
        ["audit", 0],
        ["audit", 0, "--json"],
    ],
    ids=lambda arguments: " ".join(map(str, arguments)),
)
def test_nothing_else_steers_the_terminal(runs, arguments):
    text = said(*(runs[each] if isinstance(each, int) else each for each in arguments))
    assert text
    assert steering(text) == set()


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_table_is_as_wide_as_its_terminal_however_long_a_text_is(runs, width):
    buffer = io.StringIO()
    attempts = ReportedRun.read(runs[0]).attempts
    print_table(attempts, Console(file=buffer, width=width, color_system=None))
    assert max(map(cell_len, buffer.getvalue().splitlines())) <= width


def test_no_cell_of_a_csv_is_a_formula(tmp_path):
    run = write_run(Wanted(runs_dir=tmp_path, tasks=3, agent=HOSTILE[33], texts=HOSTILE))

    rows = csv.reader(io.StringIO(call("report", run, "--format", "csv").stdout))
    cells = [cell for row in rows for cell in row]
    assert any("HYPERLINK" in cell for cell in cells)
    assert not [cell for cell in cells if re.match(r"[=+@\t\r]|-[^\d.]", cell)]
