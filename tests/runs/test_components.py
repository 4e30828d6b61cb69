import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.runs.components import remove_all_orphans
from agentbench.sandbox.interface import SandboxProvider
from agentbench.sandbox.registry import select_back_end
from tests.counted_calls import calls_of

pytestmark = pytest.mark.full

KEEP = """
import os, sys
from pathlib import Path
from agentbench.sandbox.registry import select_back_end
from agentbench.sandbox.interface import Limits
from agentbench.attempt.preparation_cache import PreparationCache
cache_dir = Path(sys.argv[1])
provider = select_back_end("process", cache_dir=cache_dir).provider
cache = PreparationCache(cache_dir / "prepared", provider)
with provider.open(provider.resolve_image(None), limits=Limits(), network=False) as box:
    kept = [cache.keep(key, box) for key in ("0a1b", "once-0a1b")]
    print("kept", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and a folder for temporary files that nobody else uses."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path / "cache"


@pytest.fixture
def own(cache_dir: Path) -> SandboxProvider:
    return select_back_end("process", cache_dir=cache_dir).provider


def test_what_a_killed_run_left_goes_and_what_a_living_one_has_stays(cache_dir, own):
    pipe = subprocess.PIPE
    argv = (sys.executable, "-c", KEEP, str(cache_dir))
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "kept\n"
        assert not mentions(said_by_removal(cache_dir, own))
        assert own.find("once-0a1b") is not None
        other.kill()
    said = said_by_removal(cache_dir, own)
    assert said is not None
    assert said.startswith("removed remains of a killed run: 1 folder")  # of its open sandbox
    assert "1 snapshot" in said
    assert own.find("once-0a1b") is None
    assert own.find("0a1b") is not None, "what is of use to others"
    assert list((cache_dir.parent / "tmp").iterdir()) == []
    left = [path.name for path in (cache_dir / "prepared" / "process").iterdir()]
    assert [name for name in left if name.startswith("once-")] == []
    assert not mentions(said_by_removal(cache_dir, own))


def said_by_removal(cache_dir, provider) -> str | None:
    """What the removal of all orphans says, if anything."""
    said: list[str] = []
    remove_all_orphans(cache_dir, provider, say=said.append)
    return said[0] if said else None


def mentions(said: str | None) -> bool:
    """Whether anything of this test was removed; groups may be of other tests that were killed."""
    return said is not None and any(word in said for word in ("folder", "snapshot", "toolbox"))


def test_half_a_state_and_half_a_toolbox_are_counted(cache_dir, own):
    half = cache_dir / "process" / "snapshots" / "states" / "half"
    (half / "workspace").mkdir(parents=True)
    (cache_dir / "process" / "snapshots" / "keys").mkdir()
    (half / "in-use").touch()
    for name in ("agent-1.new", "agent-2.new"):
        (cache_dir / "toolboxes" / name / "tools").mkdir(parents=True)
    said = said_by_removal(cache_dir, own)
    assert said is not None
    assert "1 unfinished snapshot, 2 unfinished toolboxes" in said
    assert not half.exists()


def test_where_there_is_nothing_it_does_little_and_says_nothing(cache_dir, own, monkeypatch):
    PreparationCache(cache_dir / "prepared", own)
    started, listed = (
        calls_of(monkeypatch, subprocess, "Popen"),
        calls_of(monkeypatch, os, "scandir"),
    )
    assert not mentions(said_by_removal(cache_dir, own))
    assert started == []
    assert len([place for (place,) in listed if str(place).startswith(str(cache_dir))]) < 30
    monkeypatch.undo()
    shutil.rmtree(cache_dir)
    assert not mentions(said_by_removal(cache_dir, own))
