"""The picture of the web page in README.md: python -m tests.docs.web_page_picture writes it.

A demonstration agent runs on the shipped tasks in bubblewrap. `agentbench view` serves the run, and
Chromium opens its page. The run's folder and its cache are temporary.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.browser import chromium_program
from tests.docs.pages import ROOT
from tests.view.server import serving

PICTURE = ROOT / "docs" / "pictures" / "web_page.png"
_AGENT = "demo_agent:DemoAgent"
_RUN = "demonstration"
_WIDTH = 1280
_HEIGHT = 1100


def _run_tasks(runs: Path, cache: Path) -> None:
    command = [sys.executable, "-m", "agentbench", "run", ROOT / "tasks", "--agent", _AGENT]
    options = ["--sandbox", "bubblewrap", "--run-id", _RUN, "--runs-dir", runs, "--quiet"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "AGENTBENCH_CACHE": str(cache)}
    subprocess.run([*command, *options], env=env, check=True)


def _take_picture(runs: Path, picture: Path) -> None:
    from playwright.sync_api import sync_playwright

    with serving(runs) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_program(), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT}, color_scheme="light")
        page.goto(f"{server.address}/runs/{_RUN}")
        page.screenshot(path=picture)
        browser.close()


def main() -> None:
    """Make the run, and write the picture of its page."""
    with tempfile.TemporaryDirectory(prefix="web-page-picture-") as folder:
        runs = Path(folder) / "runs"
        _run_tasks(runs, Path(folder) / "cache")
        PICTURE.parent.mkdir(exist_ok=True)
        _take_picture(runs, PICTURE)


if __name__ == "__main__":
    main()
