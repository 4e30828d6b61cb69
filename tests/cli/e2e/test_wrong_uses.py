"""A hundred wrong uses: each is refused at once, and one line says what was found and expected."""

import shlex
from pathlib import Path

import pytest

from tests.e2e.small_task import SmallTask

_LINES = (Path(__file__).parent / "wrong_uses.txt").read_text().splitlines()
_USES = [line.split(" | ") for line in _LINES if not line.startswith("#")]
_NOT_OURS = ("Input should", "Value error", "Traceback")
"""What a library says about its own types."""
_AGENTS = """
NUMBER = 7


def short(problem):
    return None
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder to use the program in."""
    folder = tmp_path_factory.mktemp("place")
    for name in ("first", "second"):
        (folder / "tasks" / name).mkdir(parents=True)
        SmallTask().write(folder / "tasks" / name)
    (folder / "runs").mkdir()
    (folder / "README.md").write_text("No suite file.\n")
    (folder / "agents.py").write_text(_AGENTS)
    return folder


@pytest.mark.parametrize(("arguments", "code", "said"), _USES, ids=[use[0] for use in _USES])
def test_a_wrong_use_gets_one_clear_line(cli, place, monkeypatch, arguments, code, said) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{place}/no.sock")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    found = cli(*shlex.split(arguments))
    *usage, line = found.stderr.strip().splitlines()
    assert (found.code, found.stdout) == (int(code), "")
    assert said in line
    assert line.startswith(("agentbench: ", "Error: "))
    assert not any(word in line for word in _NOT_OURS)
    assert [each for each in usage if not each.startswith(("Usage: ", "Try "))] in ([], [""])
    assert list((place / "runs").iterdir()) == []
