import os

from agentbench.runs.store.store import run_lock
from agentbench.view.run_cache import FileFingerprint, fingerprint_of


def test_it_changes_with_whatever_there_is_new_to_read(tmp_path):
    seen = [fingerprint_of(tmp_path)]
    (tmp_path / "run.json").write_text("{}")
    seen.append(fingerprint_of(tmp_path))
    with (tmp_path / "attempts.jsonl").open("a") as lines:
        lines.write("1\n")
        lines.flush()
        seen.append(fingerprint_of(tmp_path))
        lines.write("2\n")
    seen.append(fingerprint_of(tmp_path))
    with run_lock(tmp_path):
        seen.append(fingerprint_of(tmp_path))
    told = (tmp_path / "run.json").stat()
    os.utime(tmp_path / "run.json", ns=(told.st_atime_ns, told.st_mtime_ns + 1))
    seen.append(fingerprint_of(tmp_path))
    assert len(set(seen)) == len(seen)
    assert fingerprint_of(tmp_path) == seen[-1]
    assert [each.is_live for each in seen] == [False] * 4 + [True, False]


def test_a_file_goes_on_where_more_is_at_its_end():
    before = FileFingerprint(1, 10, 5)
    assert FileFingerprint(1, 10, 5).continues(before)
    assert FileFingerprint(1, 11, 6).continues(before)
    assert not FileFingerprint(1, 9, 6).continues(before)
    assert not FileFingerprint(2, 11, 6).continues(before)
    assert not FileFingerprint(1, 11, 6).continues(None)
