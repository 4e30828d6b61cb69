"""The site of docs/ builds without a warning: pages, links, anchors and the Python reference."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    argv = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    built = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_is_in_the_site(site: Path) -> None:
    pages = {page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")}
    built = {
        page.with_suffix("") / "index.html" if page.name != "index.md" else Path("index.html")
        for page in pages
    }
    assert all((site / page).exists() for page in built)
    navigation = (site / "index.html").read_text("utf-8")
    missing = [page for page in pages if f'href="{page.with_suffix("")}/"' not in navigation]
    assert missing == [Path("index.md")]


def test_the_reference_describes_the_public_names(site: Path) -> None:
    page = (site / "api" / "index.html").read_text("utf-8")
    for name in ("runs.api.run_tasks", "judge.judge.Judge.score", "agents.interface.Agent.solve"):
        assert f'id="agentbench.{name}"' in page


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert 'src="http' not in text, page
        assert 'rel="stylesheet" href="http' not in text, page


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (400, "light")])
def test_axe_finds_nothing(site: Path, browser: "Browser", width: int, scheme: str) -> None:
    size = {"width": width, "height": 1000}
    with browser.new_page(viewport=size, color_scheme=scheme) as page:
        for name in ("", "tutorial", "api", "swebench"):
            page.goto((site / name / "index.html").as_uri())
            page.wait_for_load_state("networkidle")
            found = Axe().run(page).response["violations"]
            assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
