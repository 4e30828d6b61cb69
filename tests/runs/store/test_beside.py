import pytest

from agentbench.runs.store import lines
from agentbench.runs.store.lines import RecordLines, read_lines_in_parallel
from tests.runs.records import failed


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "attempts.jsonl"
    content = [failed(attempt=number).json_with_checksum().encode() for number in range(1, 30)]
    content[3] = content[3].replace(b"one", b"two", 1)
    content[20] = b""
    content[22] = failed(attempt=23).model_dump_json().encode()
    path.write_bytes(b"\n".join(content))
    return path


@pytest.fixture
def small(monkeypatch):
    """A run counts as very large, and its stretches are a few lines long."""
    monkeypatch.setattr(lines, "_PARALLEL_FROM", 1)
    monkeypatch.setattr(lines, "_CHUNK_BYTES", 10_000)


@pytest.mark.usefixtures("small")
def test_several_processes_read_what_one_reads(path):
    alone, together = RecordLines(path=path), RecordLines(path=path)
    alone.read_on()
    read_lines_in_parallel(together, 2)
    assert len(together.summaries) == 26  # but the last one, whose line has no end yet
    together.read_on()
    assert together.summaries == alone.summaries
    assert together.starts == alone.starts
    assert together.set_aside == alone.set_aside
    assert (together.count, together.end) == (alone.count, path.stat().st_size)


def test_a_run_of_usual_size_is_read_by_this_process(path, tmp_path):
    lines = RecordLines(path=path)
    read_lines_in_parallel(lines, 8)
    assert len(lines.summaries) == 26
    none = RecordLines(path=tmp_path / "none")
    read_lines_in_parallel(none, 8)
    assert none.count == 0
