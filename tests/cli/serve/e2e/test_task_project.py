from threading import Event

import pytest

from agentbench.cli.serve.mcp import open_task_project
from agentbench.errors import InputError, UnavailableError
from agentbench.mcp.pytest_tools import call_pytest_tool
from agentbench.test_tools.arguments import DiscoverArguments, ExecuteArguments
from agentbench.test_tools.project import CallControl
from tests.e2e.small_task import SmallTask
from tests.fakes.staging import local_provider
from tests.sandbox.conformance_base import sh

pytestmark = pytest.mark.full


def asked(project, arguments):
    return call_pytest_tool(project, arguments, CallControl(cancel=Event()))


def test_a_tasks_project_is_tested_in_its_sandbox_without_the_hidden_tests(tmp_path):
    folder = SmallTask().write(tmp_path)
    with open_task_project(folder, local_provider().name) as project:
        answer = asked(project, ExecuteArguments())
        assert answer["outcome"] == "passed"
        listed = asked(project, DiscoverArguments())["node_ids"]
    assert {node_id.partition("::")[0] for node_id in listed} == {"tests/test_basket.py"}


@pytest.mark.docker
def test_a_container_serves_as_well_and_is_gone_afterwards(tmp_path):
    folder = SmallTask().write(tmp_path)
    with open_task_project(folder, "docker") as project:
        assert project.isolated
        assert asked(project, ExecuteArguments())["outcome"] == "passed"
        answer = asked(project, ExecuteArguments(paths=["tests/../../etc"]))
        assert answer["outcome"] == "path_outside_root"
        with project.open() as sandbox:
            assert sh(sandbox, "true").ok


def test_several_tasks_are_one_too_many(tmp_path):
    for name in ("one", "two"):
        SmallTask().write(tmp_path / name)
    with (
        pytest.raises(InputError, match="expected one task, found 2"),
        open_task_project(tmp_path, "process"),
    ):
        pass


def test_a_task_whose_set_up_fails_cannot_be_served(tmp_path):
    folder = SmallTask(setup='commands = ["false"]').write(tmp_path)
    with (
        pytest.raises(UnavailableError, match="cannot be prepared: SETUP_FAILED"),
        open_task_project(folder, local_provider().name),
    ):
        pass
