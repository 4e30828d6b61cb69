import os

from agentbench.cli.cache_entries import allocated_bytes_below


def test_a_file_with_two_names_is_counted_once(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"x" * 100_000)
    os.link(tmp_path / "a" / "file", tmp_path / "b")
    (tmp_path / "soft").symlink_to("a/file")
    found = allocated_bytes_below([tmp_path])
    assert len(found) == 4  # two folders, a file, a link
    assert (
        sum(found.values())
        == sum(path.lstat().st_blocks * 512 for path in (tmp_path, tmp_path / "a", tmp_path / "b"))
        + (tmp_path / "soft").lstat().st_blocks * 512
    )


def test_holes_take_nothing(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10**9)
    assert sum(allocated_bytes_below([tmp_path / "sparse", tmp_path]).values()) < 10**6


def test_a_file_by_itself_and_what_is_gone(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 5000)
    assert len(allocated_bytes_below([tmp_path / "file", tmp_path / "none"])) == 1
