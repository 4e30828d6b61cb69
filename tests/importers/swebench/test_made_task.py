import pytest

from agentbench.importers.swebench.conversion import TaskContent, convert_instance
from agentbench.importers.swebench.environments import InstanceEnvironment
from agentbench.importers.swebench.instance import SwebenchInstance
from agentbench.tasks.dataset_rows import patch_bytes
from agentbench.tasks.task import TaskSetup
from agentbench.tasks.task_file import EnvironmentTable, RepoTable

URL = "https://github.com/a/b.git"
NOTHING = InstanceEnvironment(
    environment=EnvironmentTable(), setup=TaskSetup(), files={"x/y": b"z"}
)


def made(**changes):
    given = {
        "instance_id": "A__b-1",
        "repo": "a/b",
        "base_commit": "0" * 40,
        "patch": "mended",
        "test_patch": "tested",
        "problem_statement": "It breaks.",
        "FAIL_TO_PASS": ["t.py::a"],
        "PASS_TO_PASS": [],
        **changes,
    }
    instance = SwebenchInstance.model_validate(given)
    content = TaskContent(
        repo=RepoTable(url=URL, commit=instance.base_commit),
        test_files=(),
        tests_patch=patch_bytes(instance.test_patch),
        solution_patch=patch_bytes(instance.patch),
    )
    return convert_instance(instance, NOTHING, content)


def test_a_task_has_the_instance_s_patches_and_is_tagged_by_its_project():
    new = made()
    assert (new.id, new.table.id, new.table.tags) == ("a__b-1", "a__b-1", ("swebench", "a/b"))
    assert (new.solution_patch, new.tests_patch) == (b"mended\n", b"tested\n")
    assert new.instruction == "It breaks."
    assert set(new.files) == {"swebench.json", "x/y"}


@pytest.mark.parametrize(
    ("statement", "title"),
    [
        ("\r\n## **Wrong** sum\r\n---", "Wrong** sum"),
        ("\n\n" + "long " * 60, f"{('long ' * 20)[:99]}\u2026"),
        ("a\x1b[31m\u202eb", "a [31m b"),
        ("# \n*\n", "A__b-1"),
    ],
)
def test_the_first_line_that_says_something_is_the_title(statement, title):
    assert made(problem_statement=statement).table.title == title


def test_only_whole_ids_are_listed():
    new = made(FAIL_TO_PASS=["t.py::a[x", "t.py::b[y z]"], PASS_TO_PASS=["[100%]", "t.py::c"])
    assert new.table.tests.fail_to_pass == ("t.py::b[y z]",)
    assert new.table.tests.pass_to_pass == ("t.py::c",)
