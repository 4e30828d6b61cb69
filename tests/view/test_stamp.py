import os

from agentbench.runs.run_lock import alone
from agentbench.view.stamp import FileStamp, stamp_of


def test_it_changes_with_whatever_there_is_new_to_read(tmp_path):
    seen = [stamp_of(tmp_path)]
    (tmp_path / "run.json").write_text("{}")
    seen.append(stamp_of(tmp_path))
    with (tmp_path / "attempts.jsonl").open("a") as lines:
        lines.write("1\n")
        lines.flush()
        seen.append(stamp_of(tmp_path))
        lines.write("2\n")
    seen.append(stamp_of(tmp_path))
    with alone(tmp_path):
        seen.append(stamp_of(tmp_path))
    told = (tmp_path / "run.json").stat()
    os.utime(tmp_path / "run.json", ns=(told.st_atime_ns, told.st_mtime_ns + 1))
    seen.append(stamp_of(tmp_path))
    assert len(set(seen)) == len(seen)
    assert stamp_of(tmp_path) == seen[-1]
    assert [each.is_live for each in seen] == [False] * 4 + [True, False]


def test_a_file_goes_on_where_more_is_at_its_end():
    before = FileStamp(1, 10, 5)
    assert FileStamp(1, 10, 5).goes_on(before)
    assert FileStamp(1, 11, 6).goes_on(before)
    assert not FileStamp(1, 9, 6).goes_on(before)
    assert not FileStamp(2, 11, 6).goes_on(before)
    assert not FileStamp(1, 11, 6).goes_on(None)
