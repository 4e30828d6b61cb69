"""The page in a real Chromium, opened from disk."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from msgspec.structs import replace

from agentbench.report.reported_run import TimedRun
from tests.hostile_texts import HOSTILE
from tests.report.html.pages import made, page_of

LOOKS = [("light", 1200), ("dark", 1200), ("light", 400), ("dark", 400)]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The page of three runs that only say hostile things."""
    folder = tmp_path_factory.mktemp("page")
    runs = [
        made(folder, tasks=40, attempts=2, agent=HOSTILE[n], model=HOSTILE[n + 3], texts=HOSTILE)
        for n in (0, 6)
    ]
    path = folder / "report.html"
    path.write_text(page_of(*map(_hostile, runs)), encoding="utf-8", newline="")
    return path


@pytest.fixture(scope="module")
def calm_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calm")
    runs = [made(folder, tasks=70, attempts=2, agent=agent) for agent in ("alpha", "beta")]
    path = folder / "report.html"
    path.write_text(page_of(*runs), encoding="utf-8", newline="")
    return path


def _hostile(run):
    attempts = [
        replace(one, detail=HOSTILE[number % len(HOSTILE)])
        for number, one in enumerate(run.attempts)
    ]
    return TimedRun(name=run.name, attempts=attempts, starts=run.starts)


class Watch:
    """What a page did that it should not."""

    def __init__(self, page):
        self.did = []
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self.did.append(f"request {request.url}"))
        page.on("console", lambda message: self.did.append(f"console {message.text}"))
        page.on("pageerror", lambda error: self.did.append(f"error {error}"))

    def _dialog(self, dialog):
        self.did.append(f"dialog {dialog.message}")
        dialog.dismiss()


@pytest.mark.parametrize("which", ["file", "calm_file"])
def test_no_script_runs_and_no_request_leaves(page, which, request):
    path = request.getfixturevalue(which)
    watch = Watch(page)
    page.context.set_offline(True)
    page.goto(path.as_uri())
    for button in page.query_selector_all("th button"):
        button.click()
    page.fill("#words", "<script>alert")
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    page.mouse.move(300, 300)
    assert watch.did == [f"request {path.as_uri()}"]
    assert page.evaluate("document.scripts.length") == 1
    assert page.locator("img, iframe, object, embed, base, a:not([href^='#'])").count() == 0


def test_a_script_that_got_in_would_not_run(page, file):
    watch, refused = Watch(page), []
    page.on("requestfailed", lambda request: refused.append((request.url, request.failure)))
    tampered = file.with_name("tampered.html")
    text = file.read_text("utf-8").replace(
        "<main>", "<main><script>alert(1)</script><img src=http://evil.test/x onerror=alert(2)>"
    )
    tampered.write_text(text, encoding="utf-8", newline="")
    page.goto(tampered.as_uri())
    assert not [each for each in watch.did if each.startswith("dialog")]
    assert refused == [("http://evil.test/x", "csp")]
    assert "Content Security Policy" in str(watch.did)


def shown(page, column):
    cells = page.locator(f"#rows tbody tr:not([hidden]) > :nth-child({column})")
    return cells.all_inner_texts()


def test_attempts_are_filtered_by_words_and_choices(page, calm_file):
    page.goto(calm_file.as_uri())
    assert page.inner_text("#count") == "280 of 280 attempts"
    page.select_option("#verdict", "failed")
    assert set(shown(page, 4)) == {"failed"}
    page.select_option("#reason", "TIMEOUT")
    assert set(shown(page, 5)) == {"TIMEOUT"}
    page.fill("#words", "beta CACHE")
    rows = list(zip(shown(page, 1), shown(page, 3), strict=True))
    assert all(task.startswith("cache") and agent.split()[0] == "beta" for task, agent in rows)
    assert page.inner_text("#count") == f"{len(rows)} of 280 attempts"
    page.fill("#words", "nothing that anybody said")
    assert page.inner_text("#count") == "0 of 280 attempts"


def test_attempts_are_sorted_by_keyboard(page, calm_file):
    page.goto(calm_file.as_uri())
    seconds = page.get_by_role("columnheader", name="seconds", exact=True)
    seconds.get_by_role("button").focus()
    page.keyboard.press("Enter")
    numbers = [float(text) for text in shown(page, 9)]
    assert numbers == sorted(numbers)
    assert seconds.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")
    assert [float(text) for text in shown(page, 9)] == sorted(numbers, reverse=True)
    page.get_by_role("columnheader", name="USD", exact=True).get_by_role("button").click()
    costs = shown(page, 10)
    known = [float(cost) for cost in costs if cost]
    assert known == sorted(known)
    assert "" in costs
    assert costs[len(known) :] == [""] * (len(costs) - len(known))
    assert seconds.get_attribute("aria-sort") is None


def test_the_page_is_whole_without_its_script(browser, calm_file):
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(calm_file.as_uri())
        assert page.locator("#rows tbody tr").count() == 280
        assert not page.locator("#filters").is_visible()
        assert page.locator("th button").count() == 0
        assert page.locator("svg").count() == 5
    finally:
        context.close()


@pytest.mark.parametrize(
    ("which", "scheme", "width"),
    [
        ("calm_file", "light", 1200),
        pytest.param("calm_file", "dark", 400, marks=pytest.mark.soak),
        ("file", "light", 400),
        *(
            pytest.param("file", *look, marks=pytest.mark.soak)
            for look in LOOKS
            if look != LOOKS[2]
        ),
        *(pytest.param("calm_file", *look, marks=pytest.mark.soak) for look in LOOKS[1:3]),
    ],
)
def test_the_page_is_accessible_and_never_wider_than_its_window(
    browser, which, scheme, width, request
):
    path = request.getfixturevalue(which)
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    try:
        page = context.new_page()
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = Axe().run(page).response["violations"]
        assert [
            (each["id"], each["nodes"][0]["html"][:200], each["nodes"][0]["failureSummary"])
            for each in found
            if each["impact"] in {"serious", "critical"}
        ] == []
    finally:
        context.close()


def test_texts_upon_bars_are_legible_in_light_and_dark(browser, calm_file):
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        try:
            page = context.new_page()
            page.goto(calm_file.as_uri())
            page_colours = page.evaluate(COLOURS)
        finally:
            context.close()
        paper = page_colours.pop("paper")
        for name, colour in page_colours.items():
            assert contrast(paper, colour) >= 4.5, f"{name} in {scheme}"


COLOURS = """() => Object.fromEntries(
  ["paper", "ink", "faint", "link", "warning", "resolved", "agent", "task", "infrastructure",
   "judged"].map((name) => [
     name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()]))"""


def contrast(one, other):
    """The contrast of two colours as WCAG 2.2 defines it."""
    lights = sorted((luminance(one), luminance(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(code):
    parts = [int(code[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_nothing_is_cut_off_on_paper(browser, calm_file):
    context = browser.new_context(viewport={"width": 1000, "height": 700})  # of A4, lying
    try:
        page = context.new_page()
        page.emulate_media(media="print")
        page.goto(calm_file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 1000
        hidden = page.evaluate(
            "[...document.querySelectorAll('.box')].filter(b => b.scrollHeight > b.clientHeight + 1"
            " && getComputedStyle(b).overflowY !== 'visible').length"
        )
        assert hidden == 0
    finally:
        context.close()
