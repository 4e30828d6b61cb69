"""Wrong uses: each is refused at once, and one line says what was found and expected."""

import os
import shlex
from pathlib import Path

import pytest

from tests.e2e.small_task import SmallTask

_OWN = Path(__file__).with_name("wrong_uses.txt")
_LISTS = [_OWN, *sorted(Path(__file__).parents[2].glob(f"extensions/*/{_OWN.name}"))]
_LINES = [line for path in _LISTS for line in path.read_text().splitlines()]
_USES = [line.split(" | ") for line in _LINES if not line.startswith("#")]
_NOT_OURS = ("Input should", "Value error", "Traceback", "[Errno", "PosixPath", "codec", "<class")
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
    _write_wrong_files(folder / "files")
    return folder


def _write_wrong_files(folder: Path) -> None:
    folder.mkdir()
    (folder / "empty.jsonl").touch()
    (folder / "number.json").write_text("7")
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "binary").write_bytes(bytes(range(256)))
    (folder / "wrong.toml").write_text("tasks = 3\n")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")
    for name in ("pipe.jsonl", "pipe.toml"):
        os.mkfifo(folder / name)


@pytest.mark.parametrize(("arguments", "code", "said"), _USES, ids=[use[0] for use in _USES])
def test_a_wrong_use_gets_one_clear_line(cli, place, monkeypatch, arguments, code, said) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{place}/no.sock")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    found = cli(*shlex.split(arguments))
    *usage, line = found.stderr.strip().splitlines()
    assert (found.code, found.stdout) == (int(code), "")
    assert said in line
    assert line.startswith(("agentbench: ", "Error: "))
    assert not any(word in line for word in _NOT_OURS)
    assert [each for each in usage if not each.startswith(("Usage: ", "Try "))] in ([], [""])
    assert list((place / "runs").iterdir()) == []
