"""A real Chromium for tests of pages, as fixtures; a pytest plugin that tests/conftest.py names.

    def test_a_page(page):            # a fresh context: no cookie, no cache of another test
        page.goto(path.as_uri())

Where no Chromium is found, its tests are skipped, and the session says how many were.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.needed import BROWSER
from tests.patience import HANG_SECONDS, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = (
    "--headless",
    "--no-sandbox",  # tests run as root in containers, where Chromium's own sandbox refuses to
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",  # it would look up hosts that no test has asked for
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)

_PATIENCE_MS = HANG_SECONDS * 1000


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One Chromium for each worker: the address that drives it."""
    profile = tmp_path_factory.mktemp("chromium")
    command = [chromium_program(), *_OPTIONS, f"--user-data-dir={profile}"]
    address = profile / "DevToolsActivePort"  # two lines: a port and a path
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: address.exists() and address.read_text().count("\n"))
            port, path = address.read_text().split()
            yield f"ws://127.0.0.1:{port}{path}"
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def browser(chromium: str) -> "Iterator[Browser]":
    """A connection to Chromium, one a module.

    While it lives, the thread counts as one with a running loop, and another module's `asyncio.run`
    would be refused in it.
    """
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        connected = playwright.chromium.connect_over_cdp(chromium, timeout=_PATIENCE_MS)
        try:
            yield connected
        finally:
            connected.close()


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


def chromium_program() -> str:
    """The path of a Chromium; skips, or fails, where there is none."""
    found = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if found is None:
        BROWSER.refuse(
            f"none of {', '.join(_PROGRAMS)} is on PATH; on Debian: apt install chromium"
        )
    return found
