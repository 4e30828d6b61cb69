import importlib.util
import json
import re
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe

from agentbench.core.display_text import printable
from agentbench.core.extensions import Slot, offers
from agentbench.core.extras import install_command
from agentbench.extensions.view.saved_page import content_policy, html_chunks
from agentbench.report.comparison import compare
from agentbench.report.summary import ResultSummary
from benchmarks.synthetic_run import Wanted, write_run
from tests.extensions.view.pages import Parsed, made, page_of
from tests.hostile_texts import HOSTILE

MEBIBYTES_2 = 2_000_000


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    runs_dir = tmp_path_factory.mktemp("runs")
    return [
        made(runs_dir, tasks=40, attempts=2, agent=agent, seed=1) for agent in ("alpha", "beta")
    ]


@pytest.fixture(scope="module")
def two(runs):
    return Parsed(page_of(*runs))


def attempt_rows(parsed):
    header = next(n for n, row in enumerate(parsed.rows) if len(row) == 11)
    return parsed.rows[header + 1 :]


def test_both_rates_of_each_run_are_shown_with_their_intervals(two, runs):
    text = " ".join(two.text.split())
    for run in runs:
        summary = ResultSummary.of(run.attempts)
        for rate in (summary.overall, summary.judged):
            low, high = rate.interval
            assert f"{rate.resolved}/{rate.total} {100 * rate.share:.1f} %" in text
            assert f"95 % CI {100 * low:.1f}\u2013{100 * high:.1f}" in text


def test_each_attempt_has_a_row_with_its_reason_and_detail(two, runs):
    attempts = [attempt for run in runs for attempt in run.attempts]
    assert sorted((row[0], row[1], row[4], row[6]) for row in attempt_rows(two)) == sorted(
        (each.task_id, str(each.attempt), each.failure_reason or "", each.detail)
        for each in attempts
    )


def test_two_runs_are_compared_in_the_given_order(two, runs):
    found = compare(runs[0].attempts, runs[1].attempts)
    assert found.gained
    assert f"Gained: the second run is better ({len(found.gained)})" in two.text
    assert f"Lost: the second run is worse ({len(found.lost)})" in two.text
    points = f"{100 * found.overall.difference:+.1f} points".replace("-", "\u2212")
    assert points in two.text
    assert "From alpha example/large to beta example/large" in two.text
    assert "From beta example/large to alpha example/large" in page_of(*reversed(runs))


def test_pass_rates_are_shown(two, runs):
    for run in runs:
        for rate in ResultSummary.of(run.attempts).passes:
            assert f"{100 * rate.any_of_k:.1f} %" in two.text
            assert f"{100 * rate.all_of_k:.1f} %" in two.text


@pytest.mark.parametrize("count", [1, 3])
def test_one_run_or_three_are_not_compared(runs, count, tmp_path):
    third = made(tmp_path, tasks=3, agent="gamma")
    assert "Comparison" not in page_of(*[*runs, third][-count:])


def test_runs_without_a_common_task_are_not_compared(runs, tmp_path):
    parsed = Parsed(page_of(runs[0], made(tmp_path, tasks=0, agent="idle")))
    assert "nothing to compare" in parsed.text


def test_a_run_without_attempts_has_a_page(tmp_path):
    assert "0 attempts" in Parsed(page_of(made(tmp_path, tasks=0))).text


def test_rows_beyond_the_limit_are_counted(tmp_path):
    parsed = Parsed("".join(html_chunks([made(tmp_path, tasks=70)], most_rows=50)))
    assert len(attempt_rows(parsed)) == 50
    assert "The table lacks the last 20 attempts" in parsed.text


def test_the_page_refers_to_nothing_else_and_allows_only_its_style(two, runs):
    whole = page_of(*runs)
    assert re.findall(r"https?:|//[a-z]|@import|url\(", whole) == []
    assert two.kinds["style"] == 1
    assert two.kinds["script"] == two.kinds["a"] == two.kinds["link"] == 0
    (policy,) = (a["content"] for _, a in two.elements if "http-equiv" in a)
    style = re.search(r"<style>(.*)</style>", whole, re.DOTALL)[1]
    assert policy == content_policy(style)
    assert "unsafe" not in policy
    names = {name for _, attributes in two.elements for name in attributes}
    assert "style" not in names
    assert not [name for name in names if name.startswith("on")]


@pytest.mark.parametrize("text", [*HOSTILE, "x" * 10_000], ids=range(41))
def test_hostile_texts_make_no_element_and_no_attribute(few, tame, text):
    hostile_texts = {"agent": text, "model": text, "detail": text}
    attempts = [
        replace(one, task_id=f"{one.task_id}{text}", **hostile_texts) for one in few.attempts
    ]
    hostile = Parsed(page_of(replace(few, name=text, attempts=attempts)))
    shapes = [[(tag, sorted(a)) for tag, a in page.elements] for page in (tame, hostile)]
    assert shapes[0] == shapes[1]
    assert printable(text)[:70] in hostile.text


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return made(tmp_path_factory.mktemp("few"), tasks=10, agent="a", seed=3)


@pytest.fixture(scope="module")
def tame(few):
    return Parsed(page_of(few))


def test_five_hundred_attempts_take_less_than_two_megabytes(tmp_path):
    hostile = made(tmp_path / "b", tasks=250, attempts=2, texts=HOSTILE)
    assert len(page_of(hostile).encode()) < MEBIBYTES_2


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 400)])
def test_the_page_is_accessible_and_not_wider_than_its_window(
    browser, runs, tmp_path, scheme, width
):
    path = tmp_path / "report.html"
    path.write_text(page_of(*runs), encoding="utf-8")
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    try:
        page = context.new_page()
        complaints = []
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = Axe().run(page).response["violations"]
    finally:
        context.close()
    assert complaints == []
    assert [each["id"] for each in found if each["impact"] in {"serious", "critical"}] == []


def test_html_is_one_page_that_says_both_rates(cli, runs_dir):
    result = cli("report", "--runs-dir", runs_dir, "--format", "html")
    assert result.code == 0, result.stderr
    assert result.stdout.startswith("<!doctype html>")
    assert result.stdout.rstrip().endswith("</html>")
    assert '1/2</span> <span class="share">50.0 %' in result.stdout


@pytest.mark.skipif("tags" not in offers(Slot.BEHAVIOUR), reason="that extension is deleted")
def test_behaviours_are_on_the_page_if_asked_for(cli, tmp_path):
    page = tmp_path / "page.html"
    wanted = {"runs_dir": tmp_path / "runs", "tasks": 20, "attempts": 2, "folders": True}
    runs = [write_run(Wanted(agent=agent, **wanted)) for agent in ("alpha", "beta")]
    assert cli("report", *runs, "--behaviour", "--format", "html", "-o", page).code == 0
    parsed = Parsed(page.read_text())
    document = json.loads(cli("behaviour", *runs, "--json").stdout)
    assert document["differences"]
    for row in document["differences"]:
        shares = [f"{100 * row[run]:.1f} %" for run in ("first", "second")]
        assert [row["tag"], *shares, str(row["tasks"])] in [found[:4] for found in parsed.rows]
    text = " ".join(parsed.text.split())
    for run in document["runs"]:
        for row in run["counts"]:
            assert (
                f"{row['count']}/{row['known']} {100 * row['count'] / row['known']:.1f} %" in text
            )
    plain = cli("report", *runs, "--format", "html").stdout
    assert "What the agents did" in text
    assert "What the agents did" not in plain


def test_report_without_its_extra_says_what_to_install(cli, runs_dir, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "agentbench.core.extras.find_spec",
        lambda asked: None if asked == "jinja2" else found(asked),
    )
    result = cli("report", "--runs-dir", runs_dir, "--format", "html")
    assert result.code == 2
    message = f"--format html needs jinja2, found none: {install_command('report')}"
    assert message in result.stderr
