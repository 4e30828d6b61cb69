"""The public functions: attempts and runs from a notebook or a training loop.

>>> from agentbench import run_attempt  # doctest: +SKIP
>>> run_attempt("tasks/lru-expiry", my_agent).resolved  # doctest: +SKIP
True
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from agentbench.agents.registry import AgentLike
from agentbench.attempt.record import AttemptRecord
from agentbench.errors import InputError, UsageError
from agentbench.runs.argument_names import check_types, naming_arguments
from agentbench.runs.options import RunOptions
from agentbench.runs.run import Run
from agentbench.runs.start import check_solutions, start_run
from agentbench.sandbox.interface import SandboxProvider
from agentbench.tasks.loading import load_tasks
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task


def run_attempt(
    task: Task | Path | str,
    agent: AgentLike | str,
    *,
    sandbox: SandboxProvider | str = "auto",
    options: RunOptions | None = None,
) -> AttemptRecord:
    """Let an agent attempt one task once, and judge the result.

    Args:
        task: A loaded task, or the path of a task's folder.
        agent: An agent, a class of agents, a function `(problem, sandbox, budget, model)`, or a
            name that `--agent` accepts.
        sandbox: `auto`, `docker`, `bubblewrap`, `process`, or a provider.
        options: The other options; their agent, sandbox and attempts are ignored.

    Raises:
        InputError: the task is wrong.
        UsageError: there is no such agent.
        UnavailableError: the sandbox is not available.
    """
    check_types(options=options, sandbox=sandbox)
    with naming_arguments():
        tasks = _loaded([task], options if options is not None else RunOptions())
    if len(tasks) != 1:
        raise InputError(f"{task}: expected one task, found {len(tasks)}; use run_tasks")
    (record,) = run_tasks(tasks, agent, sandbox=sandbox, options=options)
    return record


def run_tasks(
    tasks: Task | Path | str | Sequence[Task | Path | str],
    agent: AgentLike | str,
    *,
    sandbox: SandboxProvider | str = "auto",
    attempts: int = 1,
    options: RunOptions | None = None,
) -> Iterator[AttemptRecord]:
    """Let an agent attempt tasks; yields the record of each attempt when it ends.

    Faults of a task, the agent or the sandbox are raised at once, before the first attempt. Closing
    the iterator stops the run: running attempts are recorded as interrupted and cleaned up.

    Args:
        tasks: One or several of these: a loaded task, or the path of a task's folder, of a folder
            of them, or of a suite file.
        agent: An agent, a class of agents, a function `(problem, sandbox, budget, model)`, or a
            name that `--agent` accepts.
        sandbox: `auto`, `docker`, `bubblewrap`, `process`, or a provider.
        attempts: The number of attempts at each task.
        options: The other options; their agent, sandbox and attempts are ignored.

    Raises:
        InputError: a task is wrong; all faults at once.
        UsageError: there is no such agent.
        UnavailableError: the sandbox is not available.
    """
    check_types(options=options, sandbox=sandbox)
    base_options = options if options is not None else RunOptions()
    selected = base_options.replace(agent=agent, sandbox=sandbox, attempts=attempts)
    given: list[object] = [tasks]
    if isinstance(tasks, Iterable) and not isinstance(tasks, Task | Path | str):
        given = list(tasks)
    with naming_arguments():
        loaded = _loaded(given, selected)
        check_solutions(agent, loaded)
        return _records_of(start_run(loaded, selected))


def _records_of(run: Run) -> Iterator[AttemptRecord]:
    with naming_arguments(), closing(run.attempts()) as records:
        yield from records


def _loaded(tasks: Sequence[object], options: RunOptions) -> list[Task]:
    ready: list[Task] = []
    paths: list[Path] = []
    for each in tasks:
        # An empty path would mean the current folder.
        if not isinstance(each, Task | Path | str) or each == "":
            what = "a loaded task, or the path of a task, a folder of tasks or a suite file"
            raise UsageError(f"tasks: expected {what}, found {each!r}")
        if isinstance(each, Task):
            ready.append(each)
        else:
            paths.append(Path(each))
    if not paths:
        return ready
    return [*ready, *load_tasks(paths, mirrors=Mirrors(options.cache_dir / "mirrors")).tasks]
