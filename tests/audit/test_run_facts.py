import json
import os

import pytest

from agentbench.audit.run_facts import UnreadableRunFileError, is_run, open_run, read_attempt
from agentbench.errors import InputError
from agentbench.runs.store.store import RunStore
from tests.audit.conftest import attempt_of
from tests.runs.records import configuration, resolved


@pytest.fixture
def folder(tmp_path):
    created = RunStore.create(tmp_path, configuration())
    record = resolved()
    created.append(record, created.attempt_folder(record.task_id, 1)[0])
    return created.folder


def test_run_facts_are_complete(folder):
    run = open_run(folder)
    assert is_run(folder)
    assert [record.task_id for record in run.latest] == ["one"]
    assert list(run.record_files()) == ["attempts/one/1/record.json"]
    assert run.attempt_folder_of(run.latest[0]) == "attempts/one/1"
    assert run.read("attempts/one/1/record.json").startswith(b"{")


@pytest.mark.parametrize("content", [b"", b"{", b"\0", b"\xff", b"[1]", b"{}", b"[" * 100_000])
def test_damaged_configuration_is_an_input_error(folder, content):
    (folder / "run.json").write_bytes(content)
    with pytest.raises(InputError, match=r"run\.json|nested too deeply"):
        open_run(folder)


@pytest.mark.parametrize("name", ["run.json", "attempts.jsonl"])
def test_newer_schema_is_refused(folder, name):
    result = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(result | {"schema_version": 99}))
    with pytest.raises(InputError, match="is of a newer agentbench"):
        open_run(folder)


@pytest.mark.parametrize("content", [b"\0\n", b"\xff\xfe\n", b"{}\n", b"{\n\n", b"[]"])
def test_malformed_lines_are_set_aside(folder, content):
    with (folder / "attempts.jsonl").open("ab") as target:
        target.write(content)
    run = open_run(folder)
    assert len(run.latest) == 1
    assert len(run.set_aside) == 1


def test_deeply_nested_line_is_set_aside(folder):
    (folder / "attempts.jsonl").write_bytes(b"[" * 200_000 + b"\n")
    run = open_run(folder)
    assert len(run.latest) == 0
    assert len(run.set_aside) == 1


@pytest.mark.parametrize("name", ["run.json", "attempts.jsonl"])
def test_irregular_file_is_refused(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(InputError, match="expected a regular file"):
        open_run(folder)
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    with pytest.raises(InputError, match="expected a regular file"):
        open_run(folder)


def test_huge_configuration_is_refused_unread(folder):
    os.truncate(folder / "run.json", 10**10)
    with pytest.raises(InputError, match="too many for a run"):
        open_run(folder)


def test_endless_line_is_refused(folder):
    os.truncate(folder / "attempts.jsonl", 10**9)
    with pytest.raises(InputError, match="longer than any record"):
        open_run(folder)


def test_folder_without_run_is_refused(tmp_path):
    assert not is_run(tmp_path)
    with pytest.raises(InputError, match="is missing"):
        open_run(tmp_path)


def test_run_without_records_is_opened(tmp_path):
    assert open_run(RunStore.create(tmp_path, configuration()).folder).latest == ()


@pytest.mark.parametrize(
    ("relative", "why"),
    [
        ("none", "is missing"),
        ("../secret", "is outside"),
        ("/etc/hostname", "is outside"),
        ("link", "is outside"),
        ("circle", "cannot be read|is outside|is missing"),
        ("fifo", "not a regular file"),
        ("attempts", "cannot be read|not a regular file"),
        ("a\0b", "null"),
        ("x" * 5000, "cannot be read"),
        ("large", "too large"),
    ],
)
def test_irregular_or_outside_files_are_not_read(folder, relative, why):
    (folder.parent / "secret").write_text("x")
    (folder / "link").symlink_to("../secret")
    (folder / "circle").symlink_to("circle")
    os.mkfifo(folder / "fifo")
    (folder / "large").write_bytes(b"x" * 101)
    with pytest.raises(UnreadableRunFileError, match=why):
        open_run(folder).read(relative, limit=100)


def test_attempt_is_read_with_its_files(run_folder):
    facts = attempt_of(run_folder)
    assert [file.path for file in facts.patch] == ["basket.py"]
    assert facts.raw_patch == facts.patch
    assert facts.read("final.json").startswith(b"{")


def test_attempt_without_files_is_empty(run_folder):
    for path in run_folder.glob("attempts/small/1/**/*"):
        if path.is_file():
            path.unlink()
    run = open_run(run_folder)
    facts = read_attempt(run, run.latest[0], None)
    assert (facts.patch, facts.raw_patch, facts.patch_text) == ((), (), b"")
