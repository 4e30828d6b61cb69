import re

import pytest
from msgspec.structs import replace

from agentbench.core.display_text import printable
from agentbench.report.comparison import compare
from agentbench.report.html.page import html_chunks
from agentbench.report.reported_run import TimedRun
from agentbench.report.summary import ResultSummary
from tests.hostile_texts import HOSTILE
from tests.report.html.pages import Parsed, made, page_of

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
    """The rows of the table of attempts, the page's last one."""
    header = next(n for n, row in enumerate(parsed.rows) if row[0] == "task" and len(row) == 12)
    return parsed.rows[header + 1 :]


def test_both_rates_with_their_intervals_are_those_of_the_summary(two, runs):
    for run in runs:
        summary = ResultSummary.of(run.attempts)
        assert summary.judged != summary.overall
        for rate in (summary.overall, summary.judged):
            low, high = rate.interval
            shown = f"{rate.resolved}/{rate.total} ({100 * rate.share:.1f} %)"
            assert f"{shown}95 %: {100 * low:.1f}\u2013{100 * high:.1f} %" in two.text


def test_every_attempt_has_a_row_with_its_reason_and_detail(two, runs):
    shown = attempt_rows(two)
    attempts = [attempt for run in runs for attempt in run.attempts]
    assert sorted((row[0], row[1], row[4], row[6]) for row in shown) == sorted(
        (each.task_id, str(each.attempt), each.failure_reason or "", each.detail)
        for each in attempts
    )


def test_two_runs_are_compared_in_the_order_they_were_asked_for(two, runs):
    found = compare(runs[0].attempts, runs[1].attempts)
    assert found.gained or found.lost
    assert f"{len(found.gained)} tasks that the second resolves more often" in two.text
    assert f"{len(found.lost)} tasks that the second resolves less often" in two.text
    points = f"{100 * found.overall.difference:+.1f} points".replace("-", "\u2212")
    assert points in two.text
    assert "From alpha example/large to beta example/large" in two.text
    other = Parsed(page_of(*reversed(runs)))
    assert "From beta example/large to alpha example/large" in other.text


def test_tasks_that_ran_with_another_python_are_named(runs):
    def with_python(run, python):
        attempts = [replace(one, python=python) for one in run.attempts]
        return TimedRun(name=run.name, attempts=attempts, starts=run.starts)

    parsed = Parsed(page_of(with_python(runs[0], "3.11.2"), with_python(runs[1], "3.13.5")))
    assert "Different Python or image: 40 of the tasks" in parsed.text
    assert f"{runs[0].attempts[0].task_id} (Python 3.11 → Python 3.13)" in parsed.text
    same = Parsed(page_of(with_python(runs[0], "3.11.2"), with_python(runs[1], "3.11.9")))
    assert "Different Python" not in same.text


def test_what_k_attempts_are_worth_is_told(two, runs):
    for run in runs:
        for rate in ResultSummary.of(run.attempts).passes:
            assert f"{100 * rate.any_of_k:.1f} %" in two.text
            assert f"{100 * rate.all_of_k:.1f} %" in two.text


@pytest.mark.parametrize("count", [1, 3])
def test_one_run_and_three_are_not_compared(runs, count, tmp_path):
    third = made(tmp_path, tasks=3, agent="gamma")
    parsed = Parsed(page_of(*[*runs, third][-count:]))
    assert "Comparison" not in parsed.text


def test_two_runs_that_share_no_task_say_so(runs, tmp_path):
    none = made(tmp_path, tasks=0, agent="idle")
    parsed = Parsed(page_of(runs[0], none))
    assert "nothing to compare" in parsed.text
    assert "idle" not in parsed.text
    assert "no attempts" in parsed.text


def test_a_run_of_no_attempts_makes_a_page(tmp_path):
    parsed = Parsed(page_of(made(tmp_path, tasks=0)))
    assert "0 attempts" in parsed.text
    assert "0/0" in parsed.text


def test_the_same_runs_make_the_same_page(runs):
    assert page_of(*runs) == page_of(*runs)


def test_nothing_is_referred_to_but_the_page_itself(two, runs):
    links = [
        value
        for _, attributes in two.elements
        for name, value in attributes.items()
        if name in {"href", "src", "srcset", "data", "action", "poster", "background"}
    ]
    assert links
    assert all(link.startswith("#") for link in links)
    targets = {attributes.get("id") for _, attributes in two.elements}
    assert {link[1:] for link in links} <= targets
    whole = page_of(*runs)
    assert re.findall(r"https?:|//[a-z]|@import", whole) == []
    assert {each[1:] for each in re.findall(r"url\(([^)]*)\)", whole)} <= targets


def test_the_policy_allows_its_own_style_and_script_alone(two):
    kinds = two.kinds
    assert kinds["style"] == kinds["script"] == 1
    (policy,) = (a["content"] for _, a in two.elements if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not [a for _, a in two.elements if "style" in a]
    assert not [a for _, a in two.elements if any(name.startswith("on") for name in a)]


def test_ids_are_unique_and_pictures_say_what_they_show(two):
    ids = [attributes["id"] for _, attributes in two.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    pictures = [attributes for tag, attributes in two.elements if tag == "svg"]
    assert len(pictures) == 5
    assert all(each["role"] == "img" and each["aria-label"] for each in pictures)


def test_no_colour_is_fixed(two):
    painted = [
        value
        for _, attributes in two.elements
        for name, value in attributes.items()
        if name in {"fill", "stroke"}
    ]
    assert set(painted) <= {"none"} | {v for v in painted if v.startswith("url(#")}


def test_five_hundred_attempts_take_less_than_two_megabytes(tmp_path):
    usual = made(tmp_path / "a", tasks=250, attempts=2)
    assert len(page_of(usual).encode()) < MEBIBYTES_2
    hostile = made(tmp_path / "b", tasks=250, attempts=2, texts=HOSTILE)
    assert len(page_of(hostile).encode()) < MEBIBYTES_2


def test_many_attempts_are_aggregated_and_what_is_left_out_is_said(tmp_path):
    parsed = Parsed("".join(html_chunks([made(tmp_path, tasks=700)], most_rows=500)))
    assert "The table shows the first 500 of 700 attempts" in parsed.text
    assert len(attempt_rows(parsed)) == 500
    assert "the number of the 700 attempts that were running" in parsed.text
    never, always = (
        int(re.search(rf"(\d+) tasks that {who} attempt resolved", parsed.text)[1])
        for who in ("no", "every")
    )
    assert never + always == 700


@pytest.mark.parametrize("text", [*HOSTILE, "x" * 10_000], ids=range(41))
def test_hostile_texts_make_no_element_and_no_attribute(few, tame, text):
    said = {"agent": text, "model": text, "detail": text}
    attempts = [replace(one, task_id=f"{one.task_id}{text}", **said) for one in few.attempts]
    wild = TimedRun(name=text, attempts=attempts, starts=few.starts)
    hostile = Parsed(page_of(wild))
    shapes = [[(tag, sorted(a)) for tag, a in page.elements] for page in (tame, hostile)]
    assert shapes[0] == shapes[1]
    assert printable(text)[:70] in hostile.text


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return made(tmp_path_factory.mktemp("few"), tasks=10, agent="a", seed=3)


@pytest.fixture(scope="module")
def tame(few):
    return Parsed(page_of(few))
