import pytest
from pydantic import ValidationError

from agentbench.tasks.loading import load_task
from agentbench.tasks.task import TaskEnvironment, TaskSetup


def test_a_task_has_its_problems_id(task_folder, mirrors):
    assert load_task(task_folder("some-id"), mirrors=mirrors).id == "some-id"


def test_a_task_does_not_change(task_folder, mirrors):
    task = load_task(task_folder(), mirrors=mirrors)
    with pytest.raises(ValidationError, match="frozen"):
        task.digest = "other"


def test_two_environments_share_no_variables():
    first, second = TaskEnvironment(), TaskEnvironment()
    first.env["A"] = "1"
    assert second.env == {}


def test_set_up_may_use_the_network_unless_told_otherwise():
    assert TaskSetup().network is True
    assert TaskSetup(network=False).network is False
