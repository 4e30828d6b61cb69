"""Pages in pictures, in one look; `python -m tests.extensions.view.screenshots` has the others."""

import struct

import pytest

from agentbench.runs.store.reading import read_run
from benchmarks.synthetic_run import Wanted, write_run
from tests.docs.pages import ROOT
from tests.extensions.view import screenshots
from tests.extensions.view.server import serving

PHONE = (400, "dark")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for agent in ("alpha", "beta"):
        write_run(Wanted(runs_dir=folder, tasks=8, agent=agent, folders=True))
    return folder


def test_every_page_has_a_picture_and_nothing_is_wrong_with_it(browser, runs, tmp_path):
    first, second = sorted(run.name for run in runs.iterdir())
    attempts = read_run(runs / second).summaries
    tasks = {each.resolved: each.task_id for each in attempts if each.folder_name.endswith("/1")}
    names = {"first": first, "second": second, "failed": tasks[False], "resolved": tasks[True]}
    with serving(runs) as server:
        addresses = {
            name: server.address + path.format(**names) for name, path in screenshots.PAGES.items()
        }
        assert list(screenshots.take_screenshots(browser, addresses, tmp_path, PHONE)) == []
    pictures = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(pictures) == {f"{name}-400-dark.png" for name in addresses}
    assert {struct.unpack(">I", data[16:20]) for data in pictures.values()} == {(400,)}


def test_what_is_wrong_with_a_page_is_named(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<html lang=en><title>Wide</title><main style=width:500px><h1>A</h1><input>")
    found = screenshots.take_screenshots(browser, {"odd": page.as_uri()}, tmp_path, PHONE)
    wide, label = found
    assert wide == "odd 400 dark: the page is 508 pixels wide"
    assert label.startswith("odd 400 dark: label: <input")


def test_the_readme_names_the_command_that_makes_its_small_picture():
    text = (ROOT / "README.md").read_text("utf-8")
    assert f"]({screenshots.PICTURE.relative_to(ROOT)})" in text
    assert f"`python -m {screenshots.__name__}`" in text
    assert screenshots.PICTURE.stat().st_size < 150_000
