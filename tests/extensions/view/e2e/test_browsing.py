"""The page in a real Chromium: views, filter, order, pages, keys, a narrow window, the night."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser import context_of
from tests.extensions.view.axe import serious
from tests.extensions.view.server import serving

VIEWS = {
    "runs": "/",
    "leaderboard": "/leaderboard",
    "run": "/runs/{first}",
    "filtered": "/runs/{first}?q=cache&verdict=failed&sort=-seconds",
    "failed attempt": "{failed}",
    "resolved attempt": "{resolved}?tests=all",
    "comparison": "/compare?first={first}&second={second}",
    "choice of runs": "/compare",
    "not found": "/runs/nothing",
    "not understood": "/runs/{first}?page=x",
}
IN_THE_GATE = {
    ("dark", 1280): ("run", "failed attempt"),
    ("light", 400): ("runs", "leaderboard", "run", "comparison"),
}
"""Views that the gate looks at by night and on a telephone, too; the soak looks at all of them."""
LOOKS = [
    pytest.param(
        view,
        *(scheme, width),
        marks=() if view in IN_THE_GATE.get((scheme, width), VIEWS) else pytest.mark.soak,
    )
    for scheme, width in (("light", 1280), *IN_THE_GATE)
    for view in VIEWS
]


def path_of(view, shown):
    return VIEWS[view].format(
        first=shown.first,
        second=shown.second,
        failed=shown.address(lambda told: told.failure_reason == "TIMEOUT"),
        resolved=shown.address(lambda told: told.resolved),
    )


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")


def test_whoever_looks_for_what_keeps_people_out_finds_it(page, server):
    page.goto(server)
    page.evaluate("document.querySelector('main').append(document.createElement('input'))")
    page.evaluate("document.querySelector('h1').style.color = '#eee'")
    assert set(serious(page)) == {"label", "color-contrast"}


@pytest.mark.parametrize(("view", "scheme", "width"), LOOKS)
def test_everybody_can_use_every_view_by_day_by_night_and_on_a_telephone(
    browser, server, shown, view, scheme, width
):
    with context_of(
        browser, color_scheme=scheme, viewport={"width": width, "height": 900}
    ) as context:
        page = context.new_page()
        page.goto(server + path_of(view, shown))
        unfold(page)
        assert serious(page) == {}
        over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(over) == 0
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 30)"
        assert dark == (scheme == "dark")


def test_everybody_can_bring_the_token(page, shown):
    with serving(shown.folder, AGENTBENCH_VIEW_TOKEN="given") as found:
        page.goto(f"{found.address}/runs/{shown.first}?q=cache")
        expect(page.get_by_role("heading", name="A token is needed")).to_be_visible()
        assert page.evaluate("[...document.scripts].length") == 0
        assert serious(page) == {}
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_text("Wrong token")).to_be_visible()
        page.goto(found.said)
        expect(page).to_have_url(f"{found.address}/")
        page.goto(f"{found.address}/runs/{shown.first}")
        expect(page.get_by_role("heading", name=shown.first)).to_be_visible()
        assert page.evaluate("document.cookie") == ""


def test_from_a_run_to_an_attempt_and_back(page, server, shown):
    page.goto(server)
    page.get_by_role("link", name=shown.first).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(shown.first)
    row = page.locator("#attempts tbody tr").first
    task = row.locator("a.row").inner_text()
    row.locator("a.row").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(task)
    page.get_by_role("link", name=shown.first).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(shown.first)


def test_typing_filters_at_once_and_the_address_follows(page, server, shown):
    page.goto(f"{server}/runs/{shown.first}")
    page.evaluate("window.stays = true")
    filter_box = page.get_by_role("searchbox", name="Filter")
    filter_box.press_sequentially("cache")
    expect(page).to_have_url(re.compile(r"\?q=cache$"))
    expect(page.locator("#count")).to_contain_text("matching the filter")
    tasks = page.locator("#attempts a.row").all_inner_texts()
    assert tasks
    assert all(task.startswith("cache") for task in tasks)
    expect(filter_box).to_be_focused()
    page.get_by_label("Verdict").select_option("failed")
    expect(page).to_have_url(re.compile(r"\?q=cache&verdict=failed$"))
    assert page.evaluate("window.stays") is True
    shared = page.url
    count = page.locator("#count").inner_text()
    page.goto("about:blank")
    page.goto(shared)
    expect(page.locator("#count")).to_have_text(count)
    expect(page.get_by_role("searchbox", name="Filter")).to_have_value("cache")
    page.get_by_role("link", name="Clear").click()
    expect(page.locator("#count")).to_have_text("1\u2013100 of 120")


def test_without_script_the_form_filters_all_the_same(browser, server, shown):
    with context_of(browser, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{server}/runs/{shown.first}")
        expect(page.get_by_role("button", name="Keys")).to_be_hidden()
        page.get_by_role("searchbox", name="Filter").fill("cache")
        page.get_by_label("Fault", exact=True).select_option("agent")
        page.get_by_role("button", name="Apply").click()
        expect(page).to_have_url(re.compile("fault=agent"))
        asked = parse_qs(urlsplit(page.url).query)
        assert (asked["q"], asked["fault"]) == (["cache"], ["agent"])
        expect(page.locator("#count")).to_contain_text("matching the filter")


def test_columns_sort_both_ways(page, server, shown):
    page.goto(f"{server}/runs/{shown.first}")
    page.get_by_role("link", name="Time", exact=True).click()
    expect(page).to_have_url(re.compile("sort=seconds"))
    head = page.get_by_role("columnheader", name="Time")
    expect(head).to_have_attribute("aria-sort", "ascending")
    first = page.locator("#attempts a.row").first.get_attribute("href")
    page.get_by_role("link", name="Time", exact=True).click()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(page.locator(".pager").last).to_be_visible()
    assert page.locator("#attempts a.row").first.get_attribute("href") != first


def test_pages_are_turned(page, server, shown):
    page.goto(f"{server}/runs/{shown.first}?sort=-seconds")
    page.get_by_role("link", name="Next").click()
    expect(page.locator("#count")).to_have_text("101\u2013120 of 120")
    assert "sort=-seconds" in page.url
    page.get_by_role("link", name="Previous").click()
    expect(page.locator("#count")).to_have_text("1\u2013100 of 120")


def test_tests_of_an_attempt_are_filtered(page, server, shown):
    page.goto(server + shown.address(lambda told: told.resolved))
    rows = page.locator("#tests tbody tr")
    changed = rows.count()
    page.get_by_role("link", name=re.compile("^all")).click()
    expect(page).to_have_url(re.compile("tests=all#tests"))
    expect(rows).not_to_have_count(changed)
    assert rows.count() > changed > 0


def test_two_runs_are_chosen_compared_and_swapped(page, server, shown):
    page.goto(f"{server}/runs/{shown.second}")
    page.get_by_role("link", name="Compare with another run").click()
    expect(page.get_by_label("Second")).to_have_value(shown.second)
    page.get_by_label("First").fill(shown.first)
    page.get_by_role("button", name="Compare").click()
    answer = page.locator(".answer .figure")
    there = answer.inner_text()
    assert re.fullmatch(r"[+\u2212]\d+\.\d points", there)
    page.get_by_role("link", name="Swap").click()
    expect(page).to_have_url(re.compile(f"second={shown.first}$"))
    expect(answer).not_to_have_text(there)
    back = answer.inner_text()
    turned = there.translate(str.maketrans("+\u2212", "\u2212+"))
    assert back == turned
    page.locator("#gained a, #lost a").first.click()
    expect(page.get_by_role("heading", name="Decision")).to_be_visible()


def test_two_runs_are_picked_on_the_leaderboard_and_compared(page, server, shown):
    page.goto(f"{server}/leaderboard")
    page.get_by_role("radio", name=f"{shown.second} as the first run").check()
    page.get_by_role("radio", name=f"{shown.first} as the second run").check()
    page.get_by_role("button", name="Compare the two chosen runs").click()
    expect(page).to_have_url(re.compile(rf"\?first={shown.second}&second={shown.first}$"))
    expect(page.get_by_role("heading", name="Difference")).to_be_visible()


def test_on_a_telephone_runs_are_cards_that_begin_with_the_rate(browser, server, shown):
    with context_of(browser, viewport={"width": 400, "height": 800}) as context:
        page = context.new_page()
        for path in ("/", "/leaderboard"):
            page.goto(server + path)
            table = page.get_by_role("table").first
            card = table.get_by_role("row").filter(has=page.get_by_role("link", name=shown.first))
            rate, run = card.locator(".first"), card.get_by_role("rowheader")
            assert rate.bounding_box()["y"] < run.bounding_box()["y"]
            assert table.get_by_role("columnheader").count() == 0
            for cell in card.get_by_role("cell").all():
                if cell.is_visible():
                    box = cell.bounding_box()
                    assert box["x"] >= 0
                    assert box["x"] + box["width"] <= 400
                    assert cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth")


def test_keys_do_what_they_say(page, server, shown):
    page.goto(server)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.get_by_role("link", name=shown.second)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(shown.first)
    expect(page.get_by_role("button", name="Keys")).to_be_visible()  # the script is there
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Filter")).to_be_focused()
    page.keyboard.type("j/k?")
    expect(page.get_by_role("searchbox", name="Filter")).to_have_value("j/k?")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("u")
    expect(page.get_by_role("heading", level=1)).to_have_text("Runs")


def test_the_first_tab_skips_to_the_content(page, server):
    page.goto(server)
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_wide_tables_scroll_by_the_keyboard_in_a_narrow_window(browser, server, shown):
    with context_of(browser, viewport={"width": 400, "height": 800}) as context:
        page = context.new_page()
        page.goto(f"{server}/runs/{shown.first}")
        table = page.get_by_role("region", name="Table of attempts")
        table.focus()
        assert table.evaluate("box => box.scrollWidth > box.clientWidth")
        page.keyboard.press("ArrowRight")
        table.evaluate(
            "box => new Promise(done => { const look = () => box.scrollLeft > 0 ? done()"
            " : requestAnimationFrame(look); look(); })"
        )


def test_nothing_is_asked_of_any_other_server_and_nothing_is_refused_by_the_policy(
    page, server, shown
):
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    for path in ("/", f"/runs/{shown.first}", shown.address()):
        page.goto(server + path)
    assert asked
    assert all(url.startswith(f"{server}/") for url in asked)
    assert said == []
