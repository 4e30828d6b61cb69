import pytest

from agentbench.errors import UsageError
from agentbench.extensions.history.command import (
    RepositoryForm,
    environment_from_options,
    repository_url,
)
from agentbench.tasks.test_runner_name import Runner


@pytest.mark.parametrize(
    "url", ["https://example.org/a.git", "git@example.org:a/b.git", "file:///a/b", "ssh://h/a"]
)
def test_a_url_stays_as_it_is(url):
    assert repository_url(url) == url


def test_a_folder_becomes_a_file_url(tmp_path):
    assert repository_url(str(tmp_path)) == tmp_path.as_uri()


def test_without_options_the_environment_is_to_be_found_out():
    assert environment_from_options(None, None, None) is None
    assert environment_from_options(None, [], None) is None


def test_options_describe_an_environment():
    given = environment_from_options("a:1", ["pip install ."], "pytest -q")
    assert given.environment.image == "a:1"
    assert given.setup.commands == ("pip install .",)
    assert given.tests.command == "pytest -q"


def test_the_test_command_selects_the_runner():
    given = environment_from_options(None, None, "python -m unittest discover -s tests")
    assert given.tests.runner is Runner.UNITTEST
    assert environment_from_options("a:1", None, None).tests.runner is Runner.PYTEST


@pytest.mark.parametrize(
    ("image", "setup", "command", "said"),
    [
        ("no image!", None, None, "image: "),
        (None, [""], None, "--setup: '' is empty"),
        (None, None, "make test", "command: "),
    ],
)
def test_what_no_task_file_may_hold_is_refused(image, setup, command, said):
    with pytest.raises(UsageError, match=said):
        environment_from_options(image, setup, command)


@pytest.mark.parametrize(
    ("keeping", "url", "as_files"),
    [
        (RepositoryForm.AUTO, "file:///a", True),
        (RepositoryForm.AUTO, "https://example.org/a", False),
        (RepositoryForm.URL, "file:///a", False),
        (RepositoryForm.FILES, "https://example.org/a", True),
    ],
)
def test_a_repository_of_this_machine_is_kept_as_files(keeping, url, as_files):
    assert keeping.as_files(url) is as_files
