import json

import pytest

from agentbench.errors import InputError
from agentbench.runs.store.reading import AttemptFolder, last_attempt_folders, read_run
from tests.runs.records import failed, resolved, sealed_as


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "attempts.jsonl"
    lines = [failed(attempt=number).json_with_checksum() for number in range(1, 8)]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def attempts_in(reading):
    return [summary.attempt for summary in reading.summaries]


def test_a_run_without_a_file_has_no_records(tmp_path):
    reading = read_run(tmp_path)
    assert (list(reading.summaries), reading.warnings(), reading.latest()) == ([], (), [])
    assert list(reading.records()) == []


def test_an_incomplete_last_line_is_read_when_it_is_complete(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    before = read_run(path.parent)
    assert attempts_in(before) == [1, 2, 3, 4, 5, 6]
    assert before.warnings()[0].startswith(f"{path}:7: set aside: ")
    path.write_bytes(whole)
    after = before.read_on()
    assert (attempts_in(after), after.warnings()) == ([1, 2, 3, 4, 5, 6, 7], ())
    assert [record.attempt for record in after.records()] == [1, 2, 3, 4, 5, 6, 7]
    assert attempts_in(before) == [1, 2, 3, 4, 5, 6]


def test_damage_is_named_by_its_line_and_a_line_without_a_digest_is_read(path):
    content = path.read_bytes().splitlines(keepends=True)
    content[2] = content[2].replace(b"one", b"two", 1)
    content[4] = resolved(attempt=5).model_dump_json().encode() + b"\n"
    content[5] = b"\n"
    path.write_bytes(b"".join(content))
    reading = read_run(path.parent)
    assert attempts_in(reading) == [1, 2, 4, 5, 7]
    (warning,) = reading.warnings()
    assert warning.startswith(f"{path}:3: set aside: digest: says sha256:")
    assert [record.attempt for record in reading.records()] == [1, 2, 4, 5, 7]
    assert attempts_in(reading.read_on()) == [1, 2, 4, 5, 7]


def test_a_line_with_a_field_of_another_type_is_set_aside(path):
    path.write_bytes(sealed_as(resolved(), stages="none"))
    reading = read_run(path.parent)
    assert reading.summaries == []
    assert "stages: 'none' is not a list" in reading.warnings()[0]


def test_a_record_that_changed_after_it_was_read_is_refused(path):
    reading = read_run(path.parent)
    path.write_bytes(path.read_bytes().replace(b"TESTS_FAILED", b"TESTS_FAILEX"))
    with pytest.raises(InputError, match="the record of one/1: digest: says"):
        next(reading.records())


def test_a_record_of_a_newer_agentbench_is_refused(path):
    line = json.loads(resolved().model_dump_json()) | {"schema_version": 2, "new_field": 1}
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(InputError, match=r"attempts\.jsonl:1: schema_version 2 is of a newer"):
        read_run(path.parent)


def test_the_last_record_of_an_attempt_stands_where_its_first_one_did(path):
    records = [failed(attempt=1), failed(attempt=2), resolved(attempt=1, retry_of=1)]
    path.write_text("".join(f"{record.json_with_checksum()}\n" for record in records))
    assert read_run(path.parent).latest() == [2, 1]


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("task/1", (1, 0, 0)),
        ("task/12.retry-3", (12, 3, 0)),
        ("task/1.retry-2.rescored-1", (1, 2, 1)),
        ("task/notes", None),
        ("task/1.retry-x", None),
        ("task/\u0661", None),
    ],
)
def test_the_name_of_a_folder_tells_its_attempt(name, numbers):
    found = AttemptFolder.of(name)
    assert numbers == (found and (found.attempt, found.retry, found.rescored))


def test_the_last_try_is_the_one_with_the_highest_number():
    names = ["a/1", "a/1.retry-10", "a/1.retry-9", "b/1", "a/2.rescored-1", "a/notes", "a/2"]
    assert last_attempt_folders(names) == ["a/1.retry-10", "a/2", "b/1"]
