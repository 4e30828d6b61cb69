"""The ids of SWE-bench's instances, and what they are as ids of tasks."""

import re

from agentbench.tasks.problem import TaskId

_NOT_IN_IDS = re.compile(r"[^a-z0-9._-]")


def task_id_of(instance_id: str) -> TaskId:
    """The id of an instance's task: in lower case, with `-` for what no id may hold."""
    return TaskId(_NOT_IN_IDS.sub("-", instance_id.lower()))
