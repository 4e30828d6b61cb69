"""What agents say is text: in Chromium no script of theirs runs, and no request leaves."""

import re
from urllib.parse import quote, urlsplit

import pytest

from agentbench.runs.store.store import run_lock
from tests.extensions.view.conftest import client_of
from tests.extensions.view.hostile import HOSTILE, OUTSIDE, SCRIPT
from tests.extensions.view.hostile_run import TASK, write_hostile_run
from tests.extensions.view.server import serving
from tests.extensions.view.test_run_cache import begun

pytestmark = pytest.mark.full

FORBIDDEN = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f]")
ELEMENTS = "script:not([src='/static/view.js']), img, iframe, object, embed, video, style, base, x"
OURS = "form:not(#filter, [method=dialog], [action='/compare']), meta[http-equiv], template, math"


class Watched:
    """A page on which whatever must not happen is noted."""

    def __init__(self, page, address):
        self.page = page
        self.address = address
        self.noted = []
        page.on("dialog", lambda dialog: (self.noted.append("a dialog"), dialog.dismiss()))
        page.on("request", self._check_request)
        page.on("console", self._check_console)
        page.on("pageerror", lambda error: self.noted.append(f"an error: {error}"))
        page.on("framenavigated", self._check_address)

    def open(self, path):
        """Open a page with everything on it unfolded, and look at it."""
        self.page.goto(self.address + path)
        self.look()

    def look(self):
        """Whether all of it is text."""
        self.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        self.page.mouse.move(200, 300)
        told = self.page.evaluate(
            "([elements, ours]) => ({"
            "owned: document.documentElement.dataset.owned ?? null,"
            "elements: [...document.querySelectorAll(elements)].map(e => e.outerHTML),"
            "ours: [...document.querySelectorAll(ours)].map(e => e.outerHTML),"
            "handlers: [...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())"
            ".filter(name => name.startsWith('on') || name === 'style'),"
            "links: [...document.querySelectorAll('[href], [src], [action]')].map("
            "e => e.getAttribute('href') ?? e.getAttribute('src') ?? e.getAttribute('action')),"
            "text: document.documentElement.textContent + [...document.querySelectorAll('*')]"
            ".flatMap(e => e.getAttributeNames().map(name => e.getAttribute(name))).join(' ')})",
            [ELEMENTS, OURS],
        )
        assert told["owned"] is None
        assert (told["elements"], told["ours"], told["handlers"]) == ([], [], [])
        assert all(link.startswith(("/", "?", "#")) for link in told["links"])
        assert not any(link.startswith("//") for link in told["links"])
        assert FORBIDDEN.findall(told["text"]) == []
        assert self.noted == []

    def _check_request(self, request):
        if not request.url.startswith(f"{self.address}/"):
            self.noted.append(f"a request to {request.url[:200]}")

    def _check_console(self, message):
        if "Content Security Policy" in message.text or message.type == "error":
            self.noted.append(f"on the console: {message.text[:200]}")

    def _check_address(self, frame):
        if urlsplit(frame.url).netloc not in {"", urlsplit(self.address).netloc}:
            self.noted.append(f"went to {frame.url[:200]}")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    for name in ("hostile-1", "hostile-2"):
        write_hostile_run(folder, name)
    return folder


@pytest.fixture(scope="module")
def address(runs):
    with serving(runs) as found:
        yield found.address


@pytest.fixture
def watched(page, address):
    return Watched(page, address)


def test_there_are_enough_of_them():
    assert len(set(HOSTILE)) >= 40


@pytest.mark.parametrize(
    "markup",
    [
        f"<script>{SCRIPT}</script>",
        f"<p onclick='{SCRIPT}'>x</p>",
        f"<link rel=icon href='{OUTSIDE}/x.png'>",
        "<script src='/static/view.js'></script><script>alert(1)</script>",
        "<a href='javascript:x'>x</a>",
        "<p>\u202e</p>",
        "<p title='\x1b'>x</p>",
    ],
)
def test_whoever_watches_notices_what_must_not_happen(watched, markup):
    body = f"<!doctype html><title>x</title>{markup}"
    watched.page.route(
        "**/*", lambda route: route.fulfill(body=body, content_type="text/html; charset=utf-8")
    )
    with pytest.raises(AssertionError):
        watched.open("/")


def test_lists_and_comparisons_show_them_as_text(watched):
    for path in (
        "/",
        "/leaderboard",
        "/runs/hostile-1",
        "/compare?first=hostile-1&second=hostile-2",
    ):
        watched.open(path)
    watched.open("/runs/hostile-1?tries=all&sort=-seconds&page=2")


@pytest.mark.parametrize("quarter", range(4))
def test_an_attempt_shows_them_as_text(watched, quarter):
    for attempt in range(1 + quarter, len(HOSTILE) + 1, 4):
        watched.open(f"/runs/hostile-1/attempts/{TASK}/{attempt}?tests=all")


def test_what_somebody_puts_into_an_address_is_text(watched):
    for text in HOSTILE[::3]:
        cut = quote(text[:1_500])
        watched.open(f"/runs/hostile-1?q={cut}&task={cut}")
        watched.noted.clear()
        for path in (f"/runs/{cut}", f"/compare?first={cut}", f"/runs/hostile-1?sort={cut}"):
            watched.page.goto(watched.address + path)
            watched.noted = [
                each for each in watched.noted if "404" not in each and "400" not in each
            ]
            watched.look()


def test_files_are_shown_as_text_and_run_nothing(watched, address):
    for number in (1, 4, 14, 30):
        for name in ("patch.diff", "final.json", "agent/trajectory.json", "stages/final_test.log"):
            path = f"{address}/runs/hostile-1/attempts/{TASK}/{number}/files/{name}"
            watched.page.goto(path)
            owned = "document.documentElement.dataset.owned ?? null"
            assert watched.page.evaluate(owned) is None
            assert watched.page.evaluate("document.querySelectorAll('script, img').length") == 0
    outside = [each for each in watched.noted if "request" in each or "dialog" in each]
    assert outside == []


def test_a_log_that_grows_is_worked_into_the_page_as_text(watched, runs):
    run = runs / "hostile-2"
    begun(run, f"{TASK}/99", "agent_run")
    log = run / "attempts" / TASK / "99" / "stages" / "agent_run.log"
    log.parent.mkdir()
    log.write_text("")
    with run_lock(run):
        watched.open("/runs/hostile-2")
        for first in range(0, len(HOSTILE), 8):
            texts = "\n".join(text[-200:] for text in HOSTILE[first : first + 8])
            log.write_text(f"{texts}\nTHE LAST LINE FROM {first}\n", "utf-8")
            tail = watched.page.locator(f"[id='running-{TASK}/99'] pre")
            tail.filter(has_text=f"THE LAST LINE FROM {first}").wait_for(timeout=60_000)
            watched.look()
    log.unlink()


@pytest.mark.parametrize("attempt", range(1, len(HOSTILE) + 1))
def test_without_a_browser_too_nothing_of_them_is_markup(runs, attempt):
    text = client_of(runs).get(f"/runs/hostile-1/attempts/{TASK}/{attempt}?tests=all").text
    assert re.findall(r"<(?!/?(?:[a-z][a-z0-9]*)[\s>]|!doctype html>)", text) == []
    assert re.findall(r"<script[^>]*>", text) == ['<script src="/static/view.js" defer>']
    assert not re.search(r"<(img|iframe|object|embed|style|base|video|body [^>]*on)", text)
