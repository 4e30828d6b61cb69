"""`agentbench audit --wrong-fixes` and `validate --strength`: compare fixes with the reference."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from agentbench.attempt.resources import RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.audit.audit import ChangeFindings, FurtherFindings
from agentbench.audit.run_facts import RunFolder
from agentbench.audit.task_facts import TaskFacts
from agentbench.cli.run_execution import print_warnings, say_line
from agentbench.core import extras, host
from agentbench.core.display_text import counted
from agentbench.extensions.symbolic.differential.differential_audit import DifferentialAudit
from agentbench.sandbox.registry import select_back_end
from agentbench.tasks.problem import is_selected


def comparison(
    run: RunFolder, *, globs: Sequence[str] | None, sandbox: str | None, seconds: float
) -> FurtherFindings | None:
    """The comparison of a run's attempts with the reference fix; None if none was resolved.

    Raises:
        UnavailableError: the sandbox is not available.
        UsageError: a library is missing.
    """
    extras.require("audit --wrong-fixes", extras.SYMBOLIC)
    number = sum(one.resolved for one in run.latest if is_selected(one.task_id, globs))
    name = run.configuration.run_id
    if number == 0:
        say_line(f"{name}: no attempt was resolved, so there is nothing to compare")
        return None
    cache_dir = host.usable_cache_dir()
    chosen = sandbox or run.configuration.sandbox
    back_end = select_back_end(chosen, cache_dir=cache_dir)
    print_warnings(back_end.warnings)
    resources = RunResources.of(back_end.provider, RunSettings(), cache_dir=cache_dir)
    say_line(
        f"{name}: comparing {counted(number, 'resolved attempt')} in "
        f"{resources.provider.name}, {seconds:g} s each at most for the search"
    )
    return DifferentialAudit(
        resources=resources, cache_dir=cache_dir, seconds=seconds, say=say_line
    ).findings


def change_comparison(
    task: TaskFacts, resources: RunResources, cache_dir: Path, *, seconds: float
) -> ChangeFindings:
    """The comparison of changes to a task's base, for some seconds each.

    Raises:
        UsageError: a library is missing.
    """
    extras.require("the search for an input", extras.SYMBOLIC)
    audit = DifferentialAudit(
        resources=resources, cache_dir=cache_dir, seconds=seconds, say=lambda _line: None
    )
    return partial(audit.findings_of_change, task)
