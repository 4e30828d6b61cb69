import hashlib
import shutil
import tarfile
import threading
from datetime import timedelta
from pathlib import PurePosixPath as P

import pytest

from agentbench.attempt.preparation_cache import (
    PreparationCache,
    StoredBaseline,
    baseline_key,
    preparation_key,
)
from agentbench.core.checksums import ChecksummedDocument
from agentbench.core.file_locks import removal_lock
from agentbench.sandbox.interface import Limits
from agentbench.scoring.evidence import Evidence, StageResult
from agentbench.tasks.task import RepoSource, TaskEnvironment, TaskSetup
from tests.e2e.small_task import BUGGY
from tests.fakes.staging import small_task
from tests.sandbox.conformance_base import sh
from tests.scoring.strategies import command, stage

LIMITS = Limits(memory_mib=256, disk_mib=256)
RESULTS = (stage("git_clone", Evidence()), stage("setup", Evidence(own_seconds=9.0)))
KEY = "test-preparation"


class OldPreparation(ChecksummedDocument):
    results: tuple[StageResult, ...]
    base_tar: str


@pytest.fixture
def cache(provider, tmp_path):
    made = PreparationCache(tmp_path / "prepared", provider)
    yield made
    made.forget(KEY)


def keep(cache, provider, content: str = "one"):
    with provider.open(provider.resolve_image(None), limits=LIMITS, network=False) as box:
        sh(box, f"echo {content} > a.txt; mkdir sub; ln a.txt sub/hard; ln -s a.txt soft")
        sh(box, "chmod +x a.txt")
        return cache.keep(KEY, box)


def test_stored_preparation_is_loaded_with_its_evidence(cache, provider):
    kept = keep(cache, provider)
    assert cache.load(KEY) is None, "without its evidence a preparation is not complete"
    cache.keep_results(kept, RESULTS)
    loaded = cache.load(KEY)
    assert loaded is not None
    prepared, results = loaded
    assert prepared == kept
    assert [result.cached for result in results] == [True, True]
    assert results[1].evidence.own_seconds == 0, "nobody waited for it this time"


def test_latest_baseline_is_loaded(cache):
    stored = StoredBaseline(result=stage("baseline_run", Evidence()), report=b"{}")
    cache.keep_baseline("k", stored)
    first = cache.load_baseline("k")
    assert first is not None
    assert first.result.cached
    assert cache.load_baseline("k") == first
    later = StoredBaseline(result=stage("baseline_run", Evidence()), report=b"[]")
    cache.keep_baseline("k", later)
    assert cache.load_baseline("k").report == later.report


def test_key_stored_again_has_the_new_state(cache, provider):
    cache.keep_results(keep(cache, provider), RESULTS)
    again = keep(cache, provider, "two")
    assert again.content(P("a.txt")) == b"two\n"
    assert cache.load(KEY) is None, "the evidence of the old one is not the new one's"
    with provider.open(again.snapshot, limits=LIMITS, network=False) as box:
        assert sh(box, "cat a.txt").stdout == "two\n"


def test_forgotten_preparation_loses_its_snapshot(cache, provider, tmp_path):
    cache.keep_results(keep(cache, provider), RESULTS)
    cache.forget(KEY)
    assert cache.load(KEY) is None
    assert provider.find(KEY) is None
    assert list((tmp_path / "prepared" / provider.name).iterdir()) == []
    cache.forget(KEY)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("stages.json", None),
        ("stages.json", b""),
        ("stages.json", b'[{"stage": "git_cl'),
        ("stages.json", b'[{"stage": "of the future"}]'),
        ("base.json", None),
        ("base.json", b""),
        ("base.json", b"{}"),
        ("base.contents", None),
        ("base.contents", b""),
        ("base.contents", b"torn" * 200),
    ],
)
def test_incomplete_preparation_is_not_loaded(cache, provider, tmp_path, name, content):
    cache.keep_results(keep(cache, provider), RESULTS)
    path = tmp_path / "prepared" / provider.name / KEY / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert cache.load(KEY) is None


@pytest.mark.parametrize("name", ["stages.json", "base.json", "base.contents"])
@pytest.mark.parametrize("place", [0, 0.3, 0.7, 0.999])
def test_flipped_bit_in_a_preparation_is_detected(cache, provider, tmp_path, caplog, name, place):
    cache.keep_results(keep(cache, provider), RESULTS)
    path = tmp_path / "prepared" / provider.name / KEY / name
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 2
    path.write_bytes(content)
    assert cache.load(KEY) is None
    assert "was damaged on disk; it is recreated" in caplog.text


def test_entry_of_an_older_version_is_replaced(cache, provider, tmp_path, caplog):
    folder = tmp_path / "prepared" / provider.name / KEY
    keep(cache, provider)
    shutil.rmtree(folder)
    folder.mkdir()
    with tarfile.open(folder / "base.tar", "w"):
        pass
    old = OldPreparation(
        results=RESULTS, base_tar=hashlib.sha256((folder / "base.tar").read_bytes()).hexdigest()
    )
    (folder / "stages.json").write_text(old.json_with_checksum())
    assert cache.load(KEY) is None
    assert caplog.text == "", "nothing was damaged"
    kept = keep(cache, provider)
    cache.keep_results(kept, RESULTS)
    assert cache.load(KEY)[0] == kept
    assert {path.name for path in folder.iterdir()} == {"base.contents", "base.json", "stages.json"}


def test_flipped_bit_in_a_baseline_is_detected(cache, provider, tmp_path, caplog):
    report = b'{"outcome": "failed"}'
    cache.keep_baseline(
        "k", StoredBaseline(result=stage("baseline_run", Evidence()), report=report)
    )
    path = tmp_path / "prepared" / provider.name / "baseline-k.json"
    content = path.read_bytes()
    for at in range(0, len(content), 7):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert cache.load_baseline("k") is None
    assert "baseline-k.json was damaged on disk" in caplog.text


def test_loaded_preparation_is_locked_until_the_run_ends(cache, provider, tmp_path):
    cache.keep_results(keep(cache, provider), RESULTS)
    thing = tmp_path / "prepared" / provider.name / KEY
    other = PreparationCache(tmp_path / "prepared", provider)
    assert other.load(KEY) is not None
    del other
    with removal_lock(thing) as allowed:
        assert not allowed, "the one that kept it has it still"
    with cache._lock:
        cache._uses.clear()
    with removal_lock(thing) as allowed:
        assert allowed


def test_preparation_without_snapshot_is_not_loaded(cache, provider):
    prepared = keep(cache, provider)
    cache.keep_results(prepared, RESULTS)
    provider.discard(prepared.snapshot)
    assert cache.load(KEY) is None


def test_baseline_is_stored_with_its_report(cache, tmp_path, provider):
    baseline = StoredBaseline(
        result=stage("baseline_run", Evidence(command=command(1), own_seconds=5)), report=b"{}"
    )
    cache.keep_baseline("k", baseline)
    loaded = cache.load_baseline("k")
    assert loaded is not None
    assert loaded.report == b"{}"
    assert loaded.result.cached
    assert loaded.result.evidence.own_seconds == 0
    assert loaded.result.duration == timedelta(seconds=1)
    assert cache.load_baseline("other") is None
    (tmp_path / "prepared" / provider.name / "baseline-k.json").write_text('{"result"')
    assert cache.load_baseline("k") is None


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return small_task(tmp_path_factory.mktemp("keys") / "small")


def with_repo(task, folder, **files):
    other = small_task(folder, files={"basket.py": BUGGY, **files})
    return task.replace(source=other.source)


def with_services(task, folder, image):
    folder.mkdir(parents=True)
    (folder / "compose.yaml").write_text(f"services: {{db: {{image: {image}}}}}\n")
    environment = TaskEnvironment(compose=folder / "compose.yaml")
    return task.replace(environment=environment)


CHANGES = {
    "services": lambda t, folder: with_services(t, folder / "a", "a"),
    "other services": lambda t, folder: with_services(t, folder / "b", "b"),
    "setup command": lambda t, _: t.replace(setup=TaskSetup(commands=("true",))),
    "setup network": lambda t, _: t.replace(setup=TaskSetup(network=False)),
    "setup timeout": lambda t, _: t.replace(setup=TaskSetup(timeout_s=1)),
    "environment": lambda t, _: t.replace(environment=TaskEnvironment(env={"A": "1"})),
    "runtime": lambda t, _: t.replace(environment=TaskEnvironment(runtime="runsc")),
    "repository": lambda t, folder: with_repo(t, folder, other=""),
    "commit": lambda t, _: t.replace(source=RepoSource(url="https://x.invalid", commit="0" * 40)),
    "other commit": lambda t, _: t.replace(
        source=RepoSource(url="https://x.invalid", commit="1" * 40)
    ),
}


def test_preparation_key_covers_every_input(task, provider, tmp_path):
    image = provider.resolve_image(None)
    keys = {name: preparation_key(change(task, tmp_path / "x"), image, provider)
            for name, change in CHANGES.items()}  # fmt: skip
    keys["none"] = preparation_key(task, image, provider)
    keys["image"] = preparation_key(task, "another", provider)
    assert len(set(keys.values())) == len(keys)
    assert keys["none"] == preparation_key(task, image, provider)


def test_preparation_key_excludes_later_inputs(task, provider):
    image = provider.resolve_image(None)
    key = task.answer_key.replace(tests_patch=b"other")
    problem = task.problem.replace(instruction="other")
    other = task.replace(answer_key=key, problem=problem, digest="other")
    assert preparation_key(other, image, provider) == preparation_key(task, image, provider)


def test_caches_that_share_an_engine_do_not_share_snapshots(task, provider, tmp_path):
    image = provider.resolve_image(None)
    first, second = (PreparationCache(tmp_path / name, provider) for name in ("a", "b"))
    assert first.key(task, image) != second.key(task, image)


def test_moved_cache_keeps_its_preparations(task, provider, tmp_path):
    image = provider.resolve_image(None)
    key = PreparationCache(tmp_path / "a", provider).key(task, image)
    (tmp_path / "a").rename(tmp_path / "b")
    assert PreparationCache(tmp_path / "b", provider).key(task, image) == key


def test_baseline_key_covers_every_input(task):
    def key(preparation="p", answer=None, problem=None, environment=None):
        changed = task.replace(
            answer_key=task.answer_key.replace(**answer or {}),
            problem=task.problem.replace(**problem or {}),
            environment=task.environment.replace(**environment or {}),
        )
        return baseline_key(changed, preparation)

    keys = [
        key(),
        key("q"),
        key(answer={"tests_patch": b"x"}),
        key(answer={"fail_to_pass": ()}),
        key(answer={"pass_to_pass": ()}),
        key(problem={"test_command": "pytest -q"}),
        key(problem={"test_paths": ()}),
        key(environment={"memory_mib": 100}),
        key(environment={"env": {"A": "1"}}),
    ]
    assert len(set(keys)) == len(keys)
    assert key(answer={"solution_patch": b"x"}) == key(problem={"title": "x"}) == key()


def test_equal_preparations_share_a_lock(cache, provider, tmp_path):
    other = PreparationCache(tmp_path / "prepared", provider)
    assert cache.lock_path("k") == other.lock_path("k") != cache.lock_path("l")


def test_cache_is_thread_safe(cache, provider):
    cache.keep_results(keep(cache, provider), RESULTS)
    found = []
    threads = [threading.Thread(target=lambda: found.append(cache.load(KEY))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert None not in found
