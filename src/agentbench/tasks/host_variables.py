"""Variables of this machine that a task asks for, and that its user allows by name."""

from collections.abc import Mapping, Sequence

from agentbench.errors import UsageError
from agentbench.tasks.mcp_servers import McpServer
from agentbench.tasks.scripts import SolutionScript, Verifier
from agentbench.tasks.task import Task, TaskEnvironment


def with_host_variables(
    tasks: Sequence[Task], allowed: Sequence[str], environ: Mapping[str, str]
) -> tuple[Task, ...]:
    """The tasks with the variables of the host that they ask for, as far as they are allowed.

    Where one is not allowed or not set, the task's own value of `env` holds.

    Args:
        tasks: The tasks.
        allowed: Names of variables of the host.
        environ: The variables of the host.

    Raises:
        UsageError: a task needs a variable that is not allowed or not set; names all of them.
    """
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
        problem = task.problem.model_copy(update={"mcp_servers": servers})
        task = task.model_copy(update={"problem": problem})
    tables |= {f"steps.{step.name}.verifier": step.verifier for step in task.steps}
    if not any(table.env_from_host for table in tables.values() if table is not None):
        return task
    made = {}
    for name, table in tables.items():
        if table is None:
            continue
        env = dict(table.env)
        for variable, source in table.env_from_host.items():
            if source in values:
                env[variable] = values[source]
            elif variable not in env:
                where = f"[{name}] env_from_host.{variable}"
                missing.append(f"{task.id}: {where} needs this machine's variable {source}")
        made[name] = table.model_copy(update={"env": env})
    answers: dict[str, object] = {
        name: made[name] for name in ("solution", "verifier") if name in made
    }
    steps = [
        step.model_copy(update={"verifier": made[f"steps.{step.name}.verifier"]})
        for step in task.steps
    ]
    return task.model_copy(
        update={
            "environment": made["environment"],
            "answer_key": key.model_copy(update=answers),
            "steps": tuple(steps),
        }
    )


def _with_headers(
    task: Task, server: McpServer, values: Mapping[str, str], missing: list[str]
) -> McpServer:
    headers = dict(server.headers)
    for header, source in server.headers_from_host.items():
        if source in values:
            headers[header] = values[source]
        elif header not in headers:
            where = f"MCP server {server.name}, headers_from_host.{header}"
            missing.append(f"{task.id}: {where} needs this machine's variable {source}")
    return server.model_copy(update={"headers": headers})
