import pytest

from agentbench.importers.history import task_id_of
from agentbench.tasks.fix_commit import split_fix
from agentbench.tasks.git_history import find_commit
from agentbench.tasks.task_file import is_task_id


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://example.org/a/Project.git", "project"),
        ("https://example.org/a/project/", "project"),
        ("git@example.org:project.git", "project"),
        ("file:///somewhere/My%20Work", "my-20work"),
        ("https://example.org/---", "repository"),
        (f"https://example.org/{'x' * 300}", "x" * 80),
    ],
)
def test_an_id_is_the_repository_and_the_commit(pocket, head, url, name):
    fix = split_fix(head, find_commit(head, pocket.commits["fix"]))
    assert task_id_of(url, fix) == f"{name}-{pocket.commits['fix'][:12]}"
    assert is_task_id(task_id_of(url, fix))
