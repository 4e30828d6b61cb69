"""Screenshots of every web page, checked with axe-core, and the picture in README.md.

python -m tests.extensions.view.screenshots [FOLDER] runs the oracle, `noop` and a demonstration
agent on the shipped tasks in bubblewrap, and writes docs/pictures/web_page.png. With FOLDER, it
also writes a screenshot of every page there, wide and narrow, light and dark. It exits with 1 if
axe-core finds anything on a page, or if a page is wider than its window. Runs and cache are
temporary.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser import chromium_program
from tests.docs.pages import ROOT
from tests.extensions.view.server import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PICTURE = ROOT / "docs" / "pictures" / "web_page.png"
LOOKS = tuple(product((1280, 400), ("light", "dark")))
_AGENTS = {"oracle": "oracle", "noop": "noop", "demonstration": "demo_agent:DemoAgent"}
_HEIGHT = 1000
_ROWS = 6  # of the matrix, in the picture
_TOKEN = "secret"

PAGES = {
    "runs": "/",
    "leaderboard": "/leaderboard",
    "run": "/runs/{second}",
    "filtered": "/runs/{second}?verdict=failed&sort=-seconds",
    "attempt-failed": "/runs/{second}/attempts/{failed}/1",
    "attempt-resolved": "/runs/{second}/attempts/{resolved}/1?tests=all",
    "compare": "/compare?first={first}&second={second}",
    "compare-form": "/compare",
    "leaderboard-behaviour": "/leaderboard?behaviour=1",
    "compare-behaviour": "/compare?first={first}&second={second}&behaviour=1",
    "not-found": "/runs/nothing",
    "invalid-filter": "/runs/{second}?page=x",
}
"""The pages of `agentbench view` by the names of their screenshots."""


def take_screenshots(
    browser: "Browser", addresses: Mapping[str, str], folder: Path, *looks: tuple[int, str]
) -> Iterator[str]:
    """Write NAME-WIDTH-SCHEME.png of each page in each look, and yield what is wrong with it."""
    folder.mkdir(parents=True, exist_ok=True)
    for (name, address), (width, scheme) in product(addresses.items(), looks):
        size = {"width": width, "height": _HEIGHT}
        with browser.new_page(viewport=size, color_scheme=scheme) as page:
            page.goto(address)
            page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
            yield from (f"{name} {width} {scheme}: {fault}" for fault in _faults(page, width))


def _faults(page: "Page", width: int) -> Iterator[str]:
    from axe_playwright_python.sync_playwright import Axe

    wide = page.evaluate("document.documentElement.scrollWidth")
    if wide > width:
        yield f"the page is {wide} pixels wide"
    for found in Axe().run(page).response["violations"]:
        yield f"{found['id']}: {found['nodes'][0]['html'][:200]}"


def _run_tasks(runs: Path, cache: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "AGENTBENCH_CACHE": str(cache)}
    for name, agent in _AGENTS.items():
        command = [sys.executable, "-m", "agentbench", "run", ROOT / "tasks", "--agent", agent]
        options = ["--sandbox", "bubblewrap", "--run-id", name, "--runs-dir", runs, "--quiet"]
        code = subprocess.run([*command, *options], env=env, check=False).returncode
        assert code in {0, 1}, f"{name}: expected exit code 0 or 1, found {code}"


def _report(runs: Path, *names: str) -> str:
    page = runs.parent / f"report-{len(names)}.html"
    command = [sys.executable, "-m", "agentbench", "report", *(runs / name for name in names)]
    subprocess.run([*command, "--format", "html", "-o", page], check=True)
    return page.as_uri()


def _take_all(browser: "Browser", runs: Path, folder: Path) -> Iterator[str]:
    names = {"first": "oracle", "second": "demonstration"}
    names |= {"failed": "cron-next-fire", "resolved": "lru-expiry"}
    with serving(runs) as server:
        addresses = {name: server.address + path.format(**names) for name, path in PAGES.items()}
        addresses["report"] = _report(runs, *_AGENTS)
        addresses["report-of-two"] = _report(runs, names["first"], names["second"])
        yield from take_screenshots(browser, addresses, folder, *LOOKS)
    with serving(runs, AGENTBENCH_VIEW_TOKEN=_TOKEN) as server:
        yield from take_screenshots(browser, {"token": server.address}, folder, *LOOKS)


def _take_picture(browser: "Browser", runs: Path) -> None:
    PICTURE.parent.mkdir(exist_ok=True)
    size = {"width": 1280, "height": _HEIGHT}
    with serving(runs) as server, browser.new_page(viewport=size, color_scheme="light") as page:
        page.goto(f"{server.address}/leaderboard")
        last_row = page.locator(".matrix tbody tr").nth(_ROWS - 1).bounding_box()
        assert last_row is not None
        height = last_row["y"] + last_row["height"]
        page.screenshot(path=PICTURE, clip={"x": 0, "y": 0, "width": 1280, "height": height})


def main() -> None:
    """Make the runs, and write the pictures of their pages."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where screenshots of all pages go")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory(prefix="screenshots-") as scratch:
        runs = Path(scratch) / "runs"
        _run_tasks(runs, Path(scratch) / "cache")
        with sync_playwright() as playwright:
            chromium = playwright.chromium
            with chromium.launch(
                executable_path=chromium_program(), args=["--no-sandbox"]
            ) as browser:
                _take_picture(browser, runs)
                faults = list(_take_all(browser, runs, folder)) if folder is not None else []
    sys.exit("\n".join(faults) or None)


if __name__ == "__main__":
    main()
