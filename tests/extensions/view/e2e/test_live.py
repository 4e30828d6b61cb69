"""A page that follows a real run: it changes by itself, keeps what you do, and stops at the end."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread

import pytest
from playwright.sync_api import expect

from agentbench.agents.interface import AgentOutcome
from agentbench.runs.options import RunOptions
from agentbench.runs.start import start_run
from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import AgentEnding
from tests.e2e.small_task import FIX
from tests.extensions.view.axe import serious
from tests.extensions.view.server import serving
from tests.fakes.scripted_agent import ScriptedAgent
from tests.fakes.staging import local_provider, small_task

PATIENCE_MS = 120_000


class HeldUp:
    """An agent that waits in every attempt until it is told to go on, and then fixes the bug."""

    def __init__(self):
        self.go = [Event(), Event()]
        self.begun = 0

    def work(self, given):
        number, self.begun = self.begun, self.begun + 1
        run(given, f"echo '<b>attempt {number + 1} looks around</b>'")
        assert self.go[number].wait(PATIENCE_MS / 1000)
        run(given, FIX if number else "echo 'gives up'")
        return AgentOutcome(ending=AgentEnding.SUBMITTED)


def run(given, line):
    given.sandbox.run(Command(argv=("sh", "-c", line), timeout=timedelta(seconds=600)))


@contextmanager
def under_way(folder) -> Iterator[tuple[HeldUp, str]]:
    """A real run of two attempts, in a thread of its own; the agent, and the run's id."""
    agent = HeldUp()
    options = RunOptions(
        agent=ScriptedAgent(agent.work, "held-up"),
        sandbox=local_provider(),
        runs_dir=folder / "runs",
        jobs=1,
        attempts=2,
    )
    made = start_run([small_task(folder / "small", agent="timeout_s = 600")], options)
    thread = Thread(target=lambda: list(made.attempts()))
    thread.start()
    try:
        yield agent, made.store.folder.name
    finally:
        for each in agent.go:
            each.set()
        thread.join()


@pytest.fixture
def following(tmp_path):
    with under_way(tmp_path) as (agent, name), serving(tmp_path / "runs") as found:
        yield agent, name, found.address


def test_a_run_is_followed_to_its_end_without_losing_what_you_do(page, following):
    agent, name, address = following
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.install()
    page.goto(f"{address}/runs/{name}")
    page.evaluate("window.stays = true")
    going = page.locator("#running")
    expect(going).to_contain_text("agent run", timeout=PATIENCE_MS)
    expect(going).to_contain_text("<b>attempt 1 looks around</b>", timeout=PATIENCE_MS)
    expect(page.locator("#progress-status")).to_have_text("0 of 2 attempts done, 0 resolved")

    elapsed = going.locator(".elapsed").first
    before = elapsed.inner_text()
    expect(elapsed).not_to_have_text(before, timeout=PATIENCE_MS)
    filter_box = page.get_by_role("searchbox", name="Filter")
    filter_box.press_sequentially("sma")
    agent.go[0].set()
    status = page.locator("#progress-status")
    expect(status).to_have_text("1 of 2 attempts done, 0 resolved", timeout=PATIENCE_MS)
    expect(filter_box).to_have_value("sma")
    expect(filter_box).to_be_focused()
    filter_box.press_sequentially("ll")
    expect(page.locator("#attempts tbody tr")).to_have_count(1)
    expect(going).to_contain_text("<b>attempt 2 looks around</b>", timeout=PATIENCE_MS)

    row = page.locator("#attempts a.row").first
    row.focus()
    row.evaluate("row => { window.row = row }")
    agent.go[1].set()
    expect(status).to_contain_text("2 of 2 attempts done, 1 resolved", timeout=PATIENCE_MS)
    expect(page.locator("#summary-title")).to_contain_text("finished", timeout=PATIENCE_MS)
    expect(going).to_be_hidden()
    assert page.evaluate("document.activeElement === window.row")
    assert page.evaluate("window.stays") is True
    parts = [url for url in asked if "/parts" in url]
    assert parts
    page.clock.fast_forward("10:00")  # whatever was still to come is due by now
    assert page.evaluate("fetch('/static/icon.svg').then(answer => answer.ok)")
    assert [url for url in asked if "/parts" in url] == parts


def test_an_attempt_is_followed_until_its_record_is_there(page, following):
    agent, name, address = following
    page.goto(f"{address}/runs/{name}")
    row = page.locator("#running a.row").first
    expect(row).to_be_visible(timeout=PATIENCE_MS)
    assert serious(page) == {}
    row.click()
    expect(page.locator(".verdict")).to_contain_text("running", timeout=PATIENCE_MS)
    expect(page.locator("#tail")).to_contain_text("looks around", timeout=PATIENCE_MS)
    assert serious(page) == {}
    agent.go[0].set()
    expect(page.locator(".verdict")).to_contain_text("TESTS_FAILED", timeout=PATIENCE_MS)
    expect(page.get_by_role("heading", name="Decision")).to_be_visible()


def test_the_list_of_runs_follows_too_and_a_lost_server_is_told(page, tmp_path):
    with under_way(tmp_path) as (agent, name):
        with serving(tmp_path / "runs") as found:
            page.goto(found.address)
            row = page.locator(f"[id='run-{name}']")
            expect(row).to_contain_text("live")
            agent.go[0].set()
            expect(row).to_contain_text("1 of 2", timeout=PATIENCE_MS)
        lost = page.get_by_text("The server does not answer; trying again.")
        expect(lost).to_be_visible(timeout=PATIENCE_MS)
