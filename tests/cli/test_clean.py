import fcntl
import re

import pytest

from agentbench.agents.toolbox.in_use import Use


@pytest.fixture
def clean(program, tmp_path):
    """The command, where it sees no engine, no other cache and no other folders."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "cache").mkdir()

    def clean(*arguments):
        return program(
            "clean",
            *arguments,
            TMPDIR=str(tmp_path / "tmp"),
            AGENTBENCH_CACHE=str(tmp_path / "cache"),
        )

    return clean


def rooms(tmp_path, name: str):
    folder = tmp_path / "tmp" / f"agentbench-process-{name}"
    (folder / "workspace").mkdir(parents=True)
    (folder / "workspace" / "file").write_bytes(b"x" * 2**20)
    (folder / "owner").write_text("1\n")
    return folder


def test_what_dead_runs_left_is_removed_and_a_living_ones_stays(clean, tmp_path):
    dead, living = rooms(tmp_path, "dead"), rooms(tmp_path, "living")
    with (living / "owner").open() as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        said = clean()
    assert said.code == 0, said.stderr
    assert f"folder {dead} (1." in said.stdout
    assert str(living) not in said.stdout
    assert "in use by living runs kept" in said.stderr
    assert not dead.exists()
    assert living.exists()


def test_a_dry_run_only_says_it(clean, tmp_path):
    dead = rooms(tmp_path, "dead")
    said = clean("--dry-run")
    assert str(dead) in said.stdout
    assert "MiB would be freed" in said.stderr
    assert dead.exists()


def test_cached_preparations_go_too(clean, tmp_path):
    kept = tmp_path / "cache" / "prepared" / "process" / "abc"
    kept.mkdir(parents=True)
    said = clean()
    assert "cached process abc (0.0 MiB)" in said.stdout
    assert not kept.exists()


def test_toolboxes_go_too_but_for_one_in_use(clean, tmp_path):
    kept = tmp_path / "cache" / "toolboxes" / "some-agent-abc"
    kept.mkdir(parents=True)
    (kept / "file").write_bytes(b"x" * 2**20)
    use = Use(kept)
    said = clean()
    assert kept.exists()
    assert "toolbox some-agent-abc" not in said.stdout
    in_use = re.search(r"(\d+) in use by living runs kept", said.stderr)
    assert in_use is not None
    assert int(in_use[1]) >= 1  # other tests that run at the time have theirs
    del use
    said = clean()
    assert "toolbox some-agent-abc (1.0 MiB)" in said.stdout
    assert not kept.exists()
