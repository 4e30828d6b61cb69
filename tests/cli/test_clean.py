import fcntl
import functools
import gc
import json
import os
import re
import time

import pytest

from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.core.file_locks import SharedLock
from agentbench.sandbox.interface import Limits
from agentbench.sandbox.registry import select_back_end

pytestmark = pytest.mark.full


@pytest.fixture
def clean(cli, monkeypatch, tmp_path):
    """The command, where it sees no engine, no other cache and no other folders."""
    for name in ("tmp", "cache"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))  # as TMPDIR, which is read once
    monkeypatch.setenv("AGENTBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    return functools.partial(cli, "clean")


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
    assert "would be freed" in said.stderr
    assert dead.exists()


def test_a_dry_run_as_json_lists_what_would_go(clean, tmp_path):
    dead = rooms(tmp_path, "dead")
    document = json.loads(clean("--dry-run", "--json").stdout)
    assert document["dry_run"] is True
    (row,) = [each for each in document["entries"] if each["name"] == str(dead)]
    assert (row["kind"], row["action"]) == ("folder", "would go")
    assert row["size"] >= 2**20
    assert dead.exists()
    document = json.loads(clean("--keep", "0GB", "--json").stdout)
    assert [each["action"] for each in document["entries"] if each["name"] == str(dead)] == [
        "removed"
    ]
    assert not dead.exists()


def test_cached_preparations_go_too(clean, tmp_path):
    kept = tmp_path / "cache" / "prepared" / "process" / "abc"
    kept.mkdir(parents=True)
    said = clean()
    assert "cached process abc (0 B)" in said.stdout
    assert not kept.exists()


def test_toolboxes_go_too_but_for_one_in_use(clean, tmp_path):
    kept = tmp_path / "cache" / "toolboxes" / "some-agent-abc"
    kept.mkdir(parents=True)
    (kept / "file").write_bytes(b"x" * 2**20)
    use = SharedLock(kept)
    said = clean()
    assert kept.exists()
    assert "toolbox some-agent-abc" not in said.stdout
    in_use = re.search(r"(\d+) in use by living runs kept", said.stderr)
    assert in_use is not None
    assert int(in_use[1]) >= 1  # other tests that run at the time have theirs
    del use
    said = clean()
    assert "toolbox some-agent-abc (1.0 MB)" in said.stdout
    assert not kept.exists()


def lines_of(said) -> list[tuple[str, str]]:
    """What became of each thing, and its kind and name."""
    rows = [line for line in said.stdout.splitlines() if re.match(r"\S.*\d{4}-\d\d-\d\d", line)]
    return [(row[:9].strip(), re.split(r"\d\d:\d\d  ", row)[1]) for row in rows]


@pytest.fixture
def mirrors(tmp_path):
    """Three mirrors of 2 MB; a is the one that was used last, c the first."""
    made = {}
    for age, name in enumerate("abc"):
        folder = tmp_path / "cache" / "mirrors" / f"url-{name}.git"
        folder.mkdir(parents=True)
        (folder / "pack").write_bytes(b"x" * 2_000_000)
        used = time.time() - age * 86_400 - 100
        os.utime(folder, (used, used))
        made[name] = folder
    return made


def test_the_least_recently_used_go_until_the_rest_fits(clean, mirrors):
    asked = clean("--keep", "3MB", "--dry-run")
    expected = ["url-c.git", "url-b.git", "url-a.git"]
    fates = [("would go", expected[0]), ("would go", expected[1]), ("kept", expected[2])]
    assert lines_of(asked) == [(fate, f"mirror {name}") for fate, name in fates]
    assert "4.0 MB would be freed, 2.0 MB kept" in asked.stderr
    assert all(folder.exists() for folder in mirrors.values())
    said = clean("--keep", "3MB")
    assert said.code == 0, said.stderr
    assert "4.0 MB freed, 2.0 MB kept" in said.stderr
    assert [name for name, folder in mirrors.items() if folder.exists()] == ["a"]


def test_what_was_not_used_for_long_goes_alone(clean, mirrors):
    assert clean("--older-than", "36h").code == 0
    assert [name for name, folder in mirrors.items() if folder.exists()] == ["a", "b"]


def test_what_a_living_run_uses_stays(clean, mirrors):
    use = SharedLock(mirrors["c"])
    said = clean("--keep", "0B")
    assert ("in use", "mirror url-c.git") in lines_of(said)
    assert [name for name, folder in mirrors.items() if folder.exists()] == ["c"]
    del use


def test_everything_that_a_run_left_in_the_cache_is_told_and_can_go(clean, tmp_path):
    cache_dir = tmp_path / "cache"
    provider = select_back_end("process", cache_dir=cache_dir).provider
    provider.resolve_image(None)
    prepared = PreparationCache(cache_dir / "prepared", provider)
    with provider.open(provider.resolve_image(None), limits=Limits(), network=False) as box:
        prepared.keep_results(prepared.keep("abc", box), ())
    (cache_dir / "prepared" / "process" / "baseline-x.json").write_text("{}")
    (cache_dir / "verdicts" / "0a").mkdir(parents=True)
    (cache_dir / "verdicts" / "0a" / "0a1b.json").write_text("{}")
    kinds = {name.rsplit(" ", 1)[0] for _, name in lines_of(clean("--keep", "0B", "--dry-run"))}
    assert kinds == {"preparation", "base environment", "baseline", "verdict"}
    del prepared
    gc.collect()
    said = clean("--keep", "0B")
    assert {fate for fate, _ in lines_of(said)} == {"removed"}
    assert lines_of(clean("--keep", "0B")) == []
    assert list((cache_dir / "process" / "snapshots" / "states").iterdir()) == []
    assert list((cache_dir / "process" / "images" / "states").iterdir()) == []
