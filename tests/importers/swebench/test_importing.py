import pytest

from agentbench.importers.swebench.importing import clone_url, is_local


@pytest.mark.parametrize("name", ["acme/x", "acme/x.git", "acme__x", "acme__x.git"])
def test_a_clone_is_found_under_each_of_the_usual_names(tmp_path, name):
    (tmp_path / name).mkdir(parents=True)
    url = clone_url("acme/x", tmp_path)
    assert url == (tmp_path / name).as_uri()
    assert is_local(url)


def test_a_folder_with_blanks_in_its_name_gives_a_url_without(tmp_path):
    (tmp_path / "my mirrors" / "acme" / "x").mkdir(parents=True)
    assert " " not in clone_url("acme/x", tmp_path / "my mirrors")


@pytest.mark.parametrize("with_folder", [False, True])
def test_what_is_not_there_is_of_github(tmp_path, with_folder):
    url = clone_url("acme/x", tmp_path if with_folder else None)
    assert url == "https://github.com/acme/x.git"
    assert not is_local(url)
