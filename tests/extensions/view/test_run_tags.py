"""The tags of a run's attempts: each attempt is read once."""

import pytest

from agentbench.core.extensions import Slot, offers
from agentbench.extensions.view.run_cache import RunCache
from agentbench.extensions.view.run_tags import RunTags
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from tests.runs.records import configuration, failed, resolved

pytestmark = pytest.mark.skipif(
    "tags" not in offers(Slot.BEHAVIOUR), reason="the extension behaviour is deleted"
)


@pytest.fixture
def store(tmp_path):
    """A run of three attempts."""
    store = RunStore.create(tmp_path, configuration())
    for number in (1, 2, 3):
        append(store, failed(attempt=number))
    return store


def append(store, record):
    place, _ = store.attempt_folder(record.task_id, record.attempt)
    store.append(record, place)


def test_attempts_are_read_as_far_as_asked_and_once(store):
    tags, reading = RunTags(store.folder), read_run(store.folder)
    numbers = reading.latest()
    assert tags.read(reading, numbers, most=2) == 2
    assert (tags.unread(numbers), len(tags.of(numbers))) == ([2], 2)
    assert tags.read(reading, numbers, most=2) == 1
    assert tags.read(reading, numbers, most=2) == 0
    assert [each.task_id for each in tags.of(numbers)] == ["one"] * 3


def test_growing_run_keeps_what_was_read(store):
    cache = RunCache()
    run = cache.run(store.folder)
    run.tags.read(run.reading, run.latest, most=9)
    append(store, resolved(attempt=4))
    run = cache.run(store.folder)
    assert run.tags.unread(run.latest) == [3]
    (store.folder / "attempts.jsonl").rename(store.folder / "old.jsonl")
    append(store, resolved())
    run = cache.run(store.folder)
    assert run.tags.unread(run.latest) == [0]


def test_damaged_record_has_no_tags_and_is_not_read_again(store):
    tags, reading = RunTags(store.folder), read_run(store.folder)
    lines = (store.folder / "attempts.jsonl").read_bytes().splitlines(keepends=True)
    lines[1] = b"{" + b" " * (len(lines[1]) - 2) + b"\n"
    (store.folder / "attempts.jsonl").write_bytes(b"".join(lines))
    numbers = reading.latest()
    assert tags.read(reading, numbers, most=9) == 3
    assert tags.unread(numbers) == []
    assert len(tags.of(numbers)) == 2
