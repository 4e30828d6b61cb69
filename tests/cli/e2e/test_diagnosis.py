import pytest

from agentbench.cli.doctor import check_base_image, diagnose
from agentbench.core.files import OWNER
from agentbench.sandbox.back_ends import BACK_ENDS_BY_NAME

pytestmark = pytest.mark.full

KEY = "sk-very-secret"


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """No engine answers, and one key is set."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "")


@pytest.fixture
def found(tmp_path):
    return {finding.what: finding for finding in diagnose(tmp_path / "cache")}


def test_everything_that_a_run_needs_is_looked_at_in_its_order(found):
    assert list(found) == [
        "python",
        "git",
        *(f"sandbox {name}" for name in BACK_ENDS_BY_NAME),
        "container engine",
        "base image",
        "disk",
        "leftovers",
        "API keys",
    ]
    assert all(finding.detail for finding in found.values())


def test_what_is_there_is_told_with_its_version(found):
    assert found["python"].ok
    assert found["git"].ok
    assert found["git"].detail.startswith("git version 2")


def test_an_engine_that_is_away_comes_with_a_remedy(found):
    assert not found["sandbox docker"].ok
    assert "no.sock" in found["sandbox docker"].detail
    assert not found["container engine"].ok
    assert not found["base image"].ok
    assert found["base image"].detail == "needs a container engine"


def test_keys_are_told_by_name_and_never_shown(found):
    assert found["API keys"].detail == "present: ANTHROPIC_API_KEY"
    assert not any(KEY in finding.detail for finding in found.values())


def test_without_git_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (finding,) = (each for each in diagnose(tmp_path) if each.what == "git")
    assert not finding.ok
    assert "install git" in finding.detail


def test_what_dead_runs_left_comes_with_its_remedy(tmp_path):
    left = tmp_path / "bubblewrap" / "live" / "agentbench-x"
    left.mkdir(parents=True)
    (left / OWNER).write_text("")  # which nobody holds a lock on
    (finding,) = (each for each in diagnose(tmp_path) if each.what == "leftovers")
    assert not finding.ok
    assert finding.detail.endswith("remove them: agentbench clean")


@pytest.mark.parametrize(
    ("names", "ok", "detail"),
    [
        ([], False, "none; build it: agentbench images build"),
        (["agentbench/python:3.13", "agentbench/python:3.11"], True, None),
        (
            ["agentbench/python:3.13"],
            False,
            "agentbench/python:3.13; the default one, agentbench/python:3.11, is missing; "
            "build it: agentbench images build",
        ),
    ],
)
def test_the_default_base_image_is_what_is_needed(names, ok, detail):
    found = check_base_image(names)
    assert (found.ok, found.detail) == (ok, detail or ", ".join(names))
