"""The timeline of a whole attempt on its page, in a real Chromium."""

import json
from datetime import timedelta

import pytest

from agentbench.runs.store.store import RunStore
from tests.browser import context_of
from tests.e2e.conftest import bubblewrap as bubblewrap
from tests.e2e.conftest import cache_dir as cache_dir
from tests.e2e.conftest import walled_bench as walled_bench
from tests.e2e.scripted_attempts import SUBMIT, scripted_run
from tests.e2e.small_task import FIX
from tests.extensions.view.axe import serious
from tests.extensions.view.conftest import client_of
from tests.extensions.view.pages import Parsed
from tests.extensions.view.server import serving
from tests.fakes.scripted_model import Call
from tests.runs.records import configuration, failed
from tests.scoring.strategies import NOON

BREAK = "sed -i 's/min/max/' basket.py"
STATES = 400


def test_attempt_that_solved_the_task_and_lost_that_shows_it_by_steps(
    walled_bench, tmp_path, monkeypatch
):
    lines = ("cat basket.py", FIX, "echo '# a note' >> basket.py", BREAK)
    script = [*(Call("run", {"command": line}) for line in lines), SUBMIT]
    run = scripted_run(walled_bench, script, tmp_path, monkeypatch, timeline=True)
    text = client_of(run.parent).get(f"/runs/{run.name}/attempts/task/1").text
    start = text.index('<section id="timeline"')
    section = text[start : text.index('<section id="', start + 1)]
    head, *rows = [row for row in Parsed(section).rows if len(row) > 1]
    titles = ("start to step 3", "steps 4\u20135", "steps 6\u20137")
    assert all(cell.startswith(title) for cell, title in zip(head[1:], titles, strict=True))
    assert head[2].endswith("first solved")
    assert head[3].endswith("lost again")
    assert {row[0].partition("::")[2] or row[0]: row[1:] for row in rows} == {
        "All tests that decide": ["✗failed", "✓passed", "✗failed"],
        "test_every_price_counts": ["✗failed", "✓passed", "✓passed"],
        "test_one_price_is_the_total": ["✗failed", "✓passed", "✓passed"],
        "test_the_cheapest_is_found": ["✓passed", "✓passed", "✗failed"],
        "States judged": ["1 of 1", "2 of 2", "1 of 1"],
    }


@pytest.fixture(scope="module")
def longest(tmp_path_factory):
    """The address of an attempt with the longest timeline, whose outcome changes in each state."""
    folder = tmp_path_factory.mktemp("runs")
    store = RunStore.create(folder, configuration())
    record = failed()
    place, _ = store.attempt_folder(record.task_id, record.attempt)
    states = [{"state": str(n), "resolved": n % 2 == 1} for n in range(STATES)]
    for state in states:
        state["broke"] = [] if state["resolved"] else [f"tests/{'long' * 30}.py::test_a"]
    at = [(NOON + timedelta(seconds=n)).isoformat() for n in range(STATES)]
    noted = [{"at": at[n], "state": str(n)} for n in range(STATES)]
    (place / "timeline.json").write_text(json.dumps({"noted": noted, "judged": states}))
    store.append(record, place)
    with serving(folder) as server:
        yield f"{server.address}/runs/{store.folder.name}/attempts/{record.task_id}/1"


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 400), ("dark", 400)]
)
def test_everybody_can_use_the_longest_timeline(browser, longest, scheme, width):
    size = {"width": width, "height": 900}
    with context_of(browser, color_scheme=scheme, viewport=size) as context:
        page = context.new_page()
        page.goto(longest)
        assert serious(page) == {}
        over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(over) == 0
        table = page.get_by_role("region", name="Table of tests over time")
        assert table.get_by_role("columnheader").count() == STATES + 1
        first = table.get_by_role("rowheader", name="All tests that decide")
        before = first.bounding_box()
        table.focus()
        page.keyboard.press("ArrowRight")
        table.evaluate(
            "box => new Promise(done => { const look = () => box.scrollLeft > 0 ? done()"
            " : requestAnimationFrame(look); look(); })"
        )
        table.evaluate("box => box.scrollTo(box.scrollWidth, 0)")
        moved = abs(first.bounding_box()["x"] - before["x"])
        assert moved < 5  # pixels: the names of the tests stay in sight


def test_timeline_needs_no_scripts(browser, longest):
    with context_of(browser, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(longest)
        row = page.get_by_role("row", name="All tests that decide")
        assert row.get_by_role("cell").count() == STATES
