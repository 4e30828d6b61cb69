"""Behaviours in a real Chromium, which asks until all attempts have been read."""

import re

import pytest
from playwright.sync_api import expect

from agentbench.core.extensions import Slot, offers
from tests.browser import context_of
from tests.extensions.view.axe import serious
from tests.extensions.view.server import serving
from tests.patience import HANG_SECONDS

pytestmark = pytest.mark.skipif(
    "tags" not in offers(Slot.BEHAVIOUR), reason="the extension behaviour is deleted"
)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_page_goes_on_reading_by_itself(browser, shown, scheme, width):
    size = {"width": width, "height": 900}
    with (
        serving(shown.folder) as server,  # which has read nothing
        context_of(browser, color_scheme=scheme, viewport=size) as context,
    ):
        page = context.new_page()
        page.goto(f"{server.address}/leaderboard?behaviour=1")
        expect(page.get_by_text(re.compile(r"Read \d+ of 240 attempts"))).to_be_visible()
        assert serious(page) == {}
        table = page.get_by_role("region", name="Table of behaviours")
        expect(table).to_be_visible(timeout=1000 * HANG_SECONDS)
        page.get_by_text("What the behaviours mean").click()
        assert serious(page) == {}
        over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(over) == 0
        page.goto(f"{server.address}/compare?first={shown.first}&second={shown.second}&behaviour=1")
        expect(page.get_by_role("region", name="Table of behaviours that differ")).to_be_visible()
        assert serious(page) == {}
        assert page.evaluate(over) == 0
