"""One verdict on a comparison, whichever way it is read."""

import html
import json
import re

import pytest

from agentbench.report.comparison import compare
from agentbench.report.formatting import detectable, statement
from agentbench.runs.store.store import RunStore
from agentbench.scoring.paired_comparison import TaskPair, paired_difference
from agentbench.scoring.statistics import TaskScore
from tests import web_page
from tests.cli.conftest import call
from tests.report.several import attempts
from tests.runs.records import configuration, failed, lost, resolved

pytestmark = pytest.mark.full

MADE = {"r": resolved, "f": failed, "l": lost}


def stored(folder, name, *tasks):
    """A run on disk: a letter for each attempt of each task."""
    store = RunStore.create(folder, configuration(run_id=name, attempts=len(tasks[0])))
    for number, letters in enumerate(tasks):
        for attempt, letter in enumerate(letters, start=1):
            record = MADE[letter](run_id=name, task_id=f"task-{number:02}", attempt=attempt)
            store.append(record, store.attempt_folder(record.task_id, attempt)[0])


RUNS = {
    # Seven gained and one lost: a bootstrap leaves zero out, the exact test has p = 0.070.
    "insignificant": (["f"] * 7 + ["r"] * 13, ["r"] * 7 + ["f"] + ["r"] * 12),
    "better": (["f"] * 9 + ["r"] * 3, ["r"] * 12),
    "worse": (["r"] * 12, ["f"] * 8 + ["r"] * 3 + ["l"]),
    "alike": (["r", "f"], ["r", "f"]),
    "several attempts": (["rf", "rr", "ff", "rr", "rf", "rf", "rr"], ["rr"] * 5 + ["rf"] * 2),
    "judged in one run alone": (["l", "l"], ["r", "f"]),
}


def read_by_command(folder, *options):
    result = call("compare", "one", "two", "--runs-dir", folder, *options)
    assert result.code == 0, result.stderr
    return result.stdout


def text_of(page):
    """The text of a page without its markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


@pytest.mark.parametrize("name", RUNS)
def test_every_report_says_the_same_of_two_runs(name, tmp_path, monkeypatch):
    first, second = RUNS[name]
    stored(tmp_path, "one", *first)
    stored(tmp_path, "two", *second)
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    document = json.loads(read_by_command(tmp_path, "--json", "--github-summary"))
    markdown = read_by_command(tmp_path, "--format", "markdown")
    read = {
        "text": " ".join(read_by_command(tmp_path).split()),
        "markdown": markdown.replace("\\", ""),
        "summary of a job": summary.read_text().replace("\\", ""),
    }
    if web_page.IS_THERE:
        page = call("report", "one", "two", "--runs-dir", tmp_path, "--format", "html").stdout
        live = web_page.page_text(tmp_path, "/compare?first=one&second=two")
        read |= {"html": text_of(page), "web page": text_of(live)}
    compared = compare(
        *(attempts(name, *tasks) for name, tasks in (("one", first), ("two", second)))
    )
    for difference, told in (
        (compared.overall, document["overall"]),
        (compared.judged, document["judged"]),
    ):
        if difference is None:
            assert told is None
            continue
        result = statement(difference)
        assert told["verdict"] == result.verdict
        assert (told["p_value"], told["interval"]) == (
            difference.p_value, list(difference.interval),
        )  # fmt: skip
        assert told["is_significant"] == difference.is_significant
        for where, text in read.items():
            for part in (result.difference, result.interval, result.verdict):
                assert part in text, f"{where}: {part}"
    board = json.loads(
        call("report", "one", "two", "--runs-dir", tmp_path, "--format", "json").stdout
    )["leaderboard"]
    groups = [set(standing["group"]) for standing in board["standings"]]
    assert bool(set.intersection(*groups)) != compared.overall.is_significant
    verdicts = {statement(each).verdict for each in (compared.overall, compared.judged) if each}
    for where, text in read.items():
        found = set(re.findall(r"(?:Not s|S)tatistically significant \([^)]*\)", text))
        assert found == {verdict.partition(":")[0] for verdict in verdicts}, where


def test_the_interval_of_another_level_is_the_level_s_own(tmp_path):
    stored(tmp_path, "one", *["r"] * 8)
    stored(tmp_path, "two", *["r"] * 3, *["f"] * 5)
    strict, loose = (
        json.loads(read_by_command(tmp_path, "--json", "--alpha", alpha))["overall"]
        for alpha in ("0.05", "0.1")
    )
    assert strict["p_value"] == loose["p_value"] == 0.0625
    assert strict["interval"][1] >= 0 > loose["interval"][1]
    assert (strict["confidence"], loose["confidence"]) == (0.95, 0.9)
    text = read_by_command(tmp_path, "--alpha", "0.1")
    assert "90 % CI" in text
    assert "Statistically significant (p = 0.062): the first run is better" in text


def difference_of(gained, lost=0, others=0, **more):
    no, yes = TaskScore(0, 1), TaskScore(1, 1)
    pairs = {TaskPair(no, yes): gained, TaskPair(yes, no): lost, TaskPair(no, no): others}
    return paired_difference({pair: n for pair, n in pairs.items() if n}, **more)


def test_a_statement_has_the_difference_its_interval_the_verdict_and_the_power():
    told = str(statement(difference_of(8, 2, 10)))
    assert told == (
        "+30.0 points, 95 % CI \u22127.9 to +53.0. Not statistically significant (p = 0.11). "
        "Exact McNemar test over 20 tasks. Differences of 43.1 points or more are detectable "
        "(80 % power)."
    )
    assert statement(difference_of(0, 7)).verdict == (
        "Statistically significant (p = 0.016): the first run is better"
    )


def test_of_too_few_tasks_that_is_said():
    assert detectable(difference_of(1)) == "Too few tasks to detect any difference"
    assert str(statement(difference_of(1))).count("1 task.") == 1
    assert detectable(difference_of(0, 0, 6)).startswith("Differences of 96.3 points or more")
