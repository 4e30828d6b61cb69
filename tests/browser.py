"""A real Chromium for tests of pages, as fixtures; a pytest plugin that tests/conftest.py names.

    def test_a_page(page):            # a fresh context: no cookie, no cache of another test
        page.goto(path.as_uri())

Where no Chromium is found, its tests are skipped, and the session says how many were.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.needed import BROWSER
from tests.patience import HANG_SECONDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = (
    "--no-sandbox",  # tests run as root in containers, where Chromium's own sandbox refuses to
    "--disable-dev-shm-usage",
    "--disable-gpu",
)
_PATIENCE_MS = HANG_SECONDS * 1000


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """One Chromium a module: while it lives, the thread counts as one with a running loop.

    Another module's `asyncio.run` would be refused in it.
    """
    from playwright.sync_api import expect, sync_playwright

    program = _program()
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=program, args=list(_OPTIONS), timeout=_PATIENCE_MS
        )
        try:
            yield found
        finally:
            found.close()


@pytest.fixture
def page(browser: "Browser") -> "Iterator[Page]":
    """An empty page of its own context."""
    with context_of(browser) as context:
        yield context.new_page()


@contextmanager
def context_of(browser: "Browser", **options: object) -> "Iterator[BrowserContext]":
    """A fresh context, which waits for what a page does however busy the machine is."""
    context = browser.new_context(**options)
    context.set_default_timeout(_PATIENCE_MS)
    try:
        yield context
    finally:
        context.close()


def _program() -> str:
    """The path of a Chromium; skips, or fails, where there is none."""
    found = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if found is None:
        BROWSER.refuse(
            f"none of {', '.join(_PROGRAMS)} is on PATH; on Debian: apt install chromium"
        )
    return found
