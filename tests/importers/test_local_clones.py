import pytest

from agentbench.importers.local_clones import find_local_clone


@pytest.mark.parametrize("name", ["a/b", "a/b.git", "a__b", "a__b.git"])
def test_clone_is_found_under_each_name(tmp_path, name):
    (tmp_path / name).mkdir(parents=True)
    assert find_local_clone("a/b", tmp_path) == (tmp_path / name).as_uri()


def test_missing_clone_and_missing_folder_are_none(tmp_path):
    assert find_local_clone("a/b", tmp_path) is None
    assert find_local_clone("a/b", None) is None
