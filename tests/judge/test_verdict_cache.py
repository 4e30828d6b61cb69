"""Stored verdicts: found by everything that they depend on, and by nothing less."""

from pathlib import Path

import pytest

from agentbench.attempt.settings import RunSettings
from agentbench.judge import verdict_cache
from agentbench.judge.judge_verdict import JudgeVerdict
from agentbench.judge.verdict_cache import VerdictCache
from agentbench.runs.store.configuration import TaskEntry
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import FailureReason, Fault

ENTRY = TaskEntry(id=TaskId("small"), folder="/tasks/small", digest="a" * 64)
VERDICT = JudgeVerdict(
    task_id=ENTRY.id,
    task_digest=ENTRY.digest,
    change_digest="c" * 64,
    resolved=True,
    reward=1.0,
    reason=None,
    fault=None,
)


def stored(cache_dir: Path) -> VerdictCache:
    cache = VerdictCache(cache_dir, "docker", RunSettings())
    cache.store(ENTRY, "image", VERDICT)
    return cache


def test_an_equal_change_gets_the_stored_verdict(tmp_path: Path) -> None:
    stored(tmp_path)
    found = VerdictCache(tmp_path, "docker", RunSettings()).load(ENTRY, "image", "c" * 64)
    assert found == VERDICT.replace(from_cache=True)


def test_a_renamed_task_of_equal_files_gets_it_by_its_own_name(tmp_path: Path) -> None:
    renamed = ENTRY.replace(id=TaskId("renamed"))
    found = stored(tmp_path).load(renamed, "image", "c" * 64)
    assert found is not None
    assert found.task_id == "renamed"


@pytest.mark.parametrize(
    ("sandbox", "settings", "digest", "image", "change"),
    [
        ("bubblewrap", {}, "a", "image", "c"),
        ("docker", {"integrity_controls": "off"}, "a", "image", "c"),
        ("docker", {"timeout_scale": 2.0}, "a", "image", "c"),
        ("docker", {"runtime": "runsc"}, "a", "image", "c"),
        ("docker", {}, "b", "image", "c"),
        ("docker", {}, "a", "another", "c"),
        ("docker", {}, "a", "image", "d"),
    ],
)
def test_whatever_a_verdict_depends_on_makes_another_one(
    tmp_path: Path, sandbox: str, settings: dict[str, object], digest: str, image: str, change: str
) -> None:
    stored(tmp_path)
    cache = VerdictCache(tmp_path, sandbox, RunSettings.model_validate(settings))
    entry = ENTRY.replace(digest=digest * 64)
    assert cache.load(entry, image, change * 64) is None


def test_other_rules_make_another_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path)
    monkeypatch.setattr(verdict_cache, "rules_version", lambda: "other")
    assert VerdictCache(tmp_path, "docker", RunSettings()).load(ENTRY, "image", "c" * 64) is None


def test_a_lost_attempt_is_not_stored(tmp_path: Path) -> None:
    lost = VERDICT.replace(
        resolved=False, reward=None, reason=FailureReason.SANDBOX_ERROR, fault=Fault.INFRASTRUCTURE
    )
    cache = VerdictCache(tmp_path, "docker", RunSettings())
    cache.store(ENTRY, "image", lost)
    assert cache.load(ENTRY, "image", "c" * 64) is None


def test_a_damaged_file_is_as_good_as_none(tmp_path: Path) -> None:
    cache = stored(tmp_path)
    (file,) = (tmp_path / verdict_cache.FOLDER).glob("*/*.json")
    file.write_bytes(file.read_bytes()[:20])
    assert cache.load(ENTRY, "image", "c" * 64) is None


def test_a_cache_that_cannot_be_written_loses_no_verdict(tmp_path: Path) -> None:
    (tmp_path / verdict_cache.FOLDER).write_text("no folder")
    VerdictCache(tmp_path, "docker", RunSettings()).store(ENTRY, "image", VERDICT)
