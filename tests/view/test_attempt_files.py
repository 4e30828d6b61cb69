from agentbench.view.attempt_files import read_log_excerpt, read_tail
from agentbench.view.runs_folder import RunsFolder


def log(folder, content):
    (folder / "a.log").write_bytes(content)
    return RunsFolder(folder), folder.resolve() / "a.log"


def test_a_short_log_is_shown_whole(tmp_path):
    told = read_log_excerpt(*log(tmp_path, b"one\ntwo\xff\n"))
    assert (told.head, told.left_out, told.tail) == ("one\ntwo\ufffd\n", 0, "")


def test_a_long_log_is_shown_from_both_ends(tmp_path):
    told = read_log_excerpt(*log(tmp_path, b"first\n" + b"x" * 100_000 + b"\nlast\n"))
    assert told.head.startswith("first\n")
    assert told.tail.endswith("\nlast\n")
    assert len(told.head) + told.left_out + len(told.tail) == told.size


def test_a_log_that_grows_is_shown_by_its_last_lines(tmp_path):
    lines = [f"line {number}" for number in range(1_000)]
    told = read_tail(*log(tmp_path, "\n".join(lines).encode())).splitlines()
    assert told == lines[-len(told) :]
    assert 1 < len(told) < 30


def test_one_line_without_an_end_is_shown_as_far_as_it_goes(tmp_path):
    assert len(read_tail(*log(tmp_path, b"x" * 50_000))) == 2_048


def test_no_log_is_nothing(tmp_path):
    folder, path = RunsFolder(tmp_path), tmp_path.resolve() / "no.log"
    assert read_log_excerpt(folder, path) is None
    assert read_tail(folder, path) == ""
