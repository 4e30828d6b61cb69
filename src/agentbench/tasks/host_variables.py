"""Variables of this machine that a task requests and its user allows by name."""

from collections.abc import Mapping, Sequence

from agentbench.errors import UsageError
from agentbench.tasks.mcp_servers import McpServer
from agentbench.tasks.scripts import SolutionScript, Verifier
from agentbench.tasks.task import Task, TaskEnvironment


def with_host_variables(
    tasks: Sequence[Task], allowed: Sequence[str], environ: Mapping[str, str]
) -> tuple[Task, ...]:
    """The tasks with the requested variables of the host that are allowed.

    If one is not allowed or not set, the task's own value in `env` is used.

    Args:
        tasks: The tasks.
        allowed: Names of variables of the host.
        environ: The variables of the host.

    Raises:
        UsageError: a task needs a variable that is not allowed or not set (lists all of them), or a
            name is invalid.
    """
    for name in allowed:
        if not name or "=" in name:
            raise UsageError(f"--allow-env: expected the name of a variable, found {name!r}")
    values = {name: environ[name] for name in allowed if name in environ}
    missing: list[str] = []
    found = tuple(_with_variables(task, values, missing) for task in tasks)
    if missing:
        raise UsageError("; ".join(missing) + "; set each one, and allow it with --allow-env NAME")
    return found


def _with_variables(task: Task, values: Mapping[str, str], missing: list[str]) -> Task:
    key = task.answer_key
    tables: dict[str, TaskEnvironment | Verifier | SolutionScript | None] = {
        "environment": task.environment,
        "solution": key.solution,
    }
    if not task.steps:
        tables["verifier"] = key.verifier
    servers = tuple(_with_headers(task, each, values, missing) for each in task.problem.mcp_servers)
    if servers != task.problem.mcp_servers:
        problem = task.problem.replace(mcp_servers=servers)
        task = task.replace(problem=problem)
    tables |= {f"steps.{step.name}.verifier": step.verifier for step in task.steps}
    if not any(table.env_from_host for table in tables.values() if table is not None):
        return task
    made = {}
    for name, table in tables.items():
        if table is None:
            continue
        where = f"{task.id}: [{name}] env_from_host"
        env = _with_values(table.env, table.env_from_host, values, missing, where)
        made[name] = table.replace(env=env)
    answers: dict[str, object] = {
        name: made[name] for name in ("solution", "verifier") if name in made
    }
    steps = [step.replace(verifier=made[f"steps.{step.name}.verifier"]) for step in task.steps]
    return task.replace(
        environment=made["environment"], answer_key=key.replace(**answers), steps=tuple(steps)
    )


def _with_headers(
    task: Task, server: McpServer, values: Mapping[str, str], missing: list[str]
) -> McpServer:
    where = f"{task.id}: MCP server {server.name}, headers_from_host"
    headers = _with_values(server.headers, server.headers_from_host, values, missing, where)
    return server.replace(headers=headers)


def _with_values(
    own: Mapping[str, str],
    from_host: Mapping[str, str],
    values: Mapping[str, str],
    missing: list[str],
    where: str,
) -> dict[str, str]:
    """A table's own values, overridden by those of the host."""
    found = dict(own)
    for key, source in from_host.items():
        if source in values:
            found[key] = values[source]
        elif key not in found:
            missing.append(f"{where}.{key} needs this machine's variable {source}")
    return found
