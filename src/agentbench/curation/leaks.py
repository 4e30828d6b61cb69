"""What of a task's answer an agent could find, as `agentbench audit` sees it."""

from agentbench.audit.task_facts import read_task_facts
from agentbench.audit.tasks import audit_task
from agentbench.scoring.evidence import Finding, Severity
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task

_KNOWN_BETTER = "weak-control"  # how well tests are controlled is seen by running them


def leaks_of(task: Task, mirrors: Mirrors) -> tuple[Finding, ...]:
    """All that weighs, but for what a proof knows better."""
    found = audit_task(read_task_facts(task, mirrors)).findings
    return tuple(
        each for each in found if each.rule != _KNOWN_BETTER and each.severity is not Severity.INFO
    )
