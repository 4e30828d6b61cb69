import pytest

from agentbench.runs.store.lines import RecordLines, lines_between, read_lines
from tests.runs.records import failed, resolved, sealed_as


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "attempts.jsonl"
    lines = [failed(attempt=number).json_with_checksum() for number in range(1, 8)]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_every_cut_of_a_file_gives_each_line_once(path):
    size = path.stat().st_size
    whole = list(lines_between(path, 0))
    assert [line for _, line in whole] == path.read_bytes().splitlines(keepends=True)
    starts = [start for start, _ in whole]
    for cut in [0, 1, starts[1] - 1, starts[1], starts[1] + 1, starts[3], size - 1, size]:
        assert [*lines_between(path, 0, cut), *lines_between(path, cut)] == whole


def test_there_are_no_lines_where_there_is_no_file(tmp_path):
    lines = RecordLines(path=tmp_path / "none")
    lines.read_on()
    assert (lines.summaries, lines.count) == ([], 0)
    assert read_lines(tmp_path) == ([], [])


def test_a_last_line_in_the_making_is_left_for_later(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    lines = RecordLines(path=path)
    lines.read_on(whole_lines=True)
    assert (len(lines.summaries), lines.set_aside) == (6, [])
    path.write_bytes(whole)
    lines.read_on()
    assert (len(lines.summaries), lines.count, lines.set_aside) == (7, 7, [])


def test_damage_is_named_by_its_line_and_a_line_without_a_digest_is_read(path):
    content = path.read_bytes().splitlines(keepends=True)
    content[2] = content[2].replace(b"one", b"two", 1)
    content[4] = resolved(attempt=5).model_dump_json().encode() + b"\n"
    content[5] = b"\n"
    path.write_bytes(b"".join(content))
    for whole in (False, True):
        lines = RecordLines(path=path, whole=whole)
        lines.read_on()
        assert [told.attempt for told in lines.summaries] == [1, 2, 4, 5, 7]
        (said,) = lines.set_aside
        assert said.startswith(f"{path}:3: set aside: digest: says sha256:")
    records, warnings = read_lines(path.parent)
    assert [record.attempt for record in records] == [1, 2, 4, 5, 7]
    assert warnings == [said]


def test_a_sealed_line_that_is_no_record_is_set_aside_by_whoever_reads_it_whole(path):
    path.write_bytes(sealed_as(resolved(), stages="none"))
    lines = RecordLines(path=path, whole=True)
    lines.read_on()
    assert lines.summaries == []
    assert "stages: Input should be a valid" in lines.set_aside[0]
