"""Makes Harbor's task.toml of a task: users, networks, limits, verifiers and steps."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import tomlkit

from agentbench.core.network import Network
from agentbench.extensions.harbor.task_toml import split_env
from agentbench.sandbox.interface import USER_ID
from agentbench.tasks.scripts import (
    HealthCheck,
    SolutionScript,
    Verifier,
    service_path,
)
from agentbench.tasks.steps import TaskStep
from agentbench.tasks.task import Task, TaskEnvironment
from agentbench.tasks.users import AGENT_USER, UserName

WORKDIR = PurePosixPath("/app")
"""The default folder of the repository."""

_ALWAYS_COLLECTED = "/logs/artifacts"
_Table = dict[str, object]


class NotExpressibleError(ValueError):
    """A task that Harbor's format cannot express; the text says why."""


def workdir_of(task: Task) -> PurePosixPath:
    """The folder in which the agent and the scripts work."""
    return task.workdir or WORKDIR


def account_of(user: UserName) -> str:
    """A user as Docker knows it."""
    return str(USER_ID) if user == AGENT_USER else user


def task_toml(task: Task) -> str:
    """The text of Harbor's task.toml, schema 1.4.

    Raises:
        NotExpressibleError: a value has no form there.
    """
    environment, solution = task.environment, task.answer_key.solution
    opened = opens_networks(task)
    servers: list[_Table] = []
    for server in task.problem.mcp_servers:
        headers = _with_templates(server.headers, server.headers_from_host)
        row = server.model_dump(exclude={"headers_from_host"})
        servers.append({**row, "headers": headers})
    # The variables that the Dockerfile cannot set: those of the host, and of compose files.
    variables = set(environment.env_from_host)
    if environment.compose is not None:
        variables |= {name for name, value in environment.env.items() if "$" not in value}
    values: _Table = {
        "schema_version": "1.4",
        "multi_step_reward_strategy": str(task.reward_strategy) if task.steps else None,
        "steps": [_step(task, step, opened=opened) for step in task.steps],
        "artifacts": [] if task.steps else list(_artifacts(task)),
        "metadata": {"title": task.problem.title, "tags": list(task.problem.tags)},
        "verifier": {} if task.steps else _verifier(task, opened=opened),
        "agent": {
            "timeout_sec": task.problem.limits.timeout_s,
            "user": account_of(environment.user),
            **_network(task.problem.network, opened=opened),
        },
        "environment": {
            "build_timeout_sec": task.setup.timeout_s,
            **_limits(environment),
            "storage_mb": environment.disk_mib,
            "workdir": str(workdir_of(task)),
            "skills_dir": task.problem.skills,
            **_network(environment.network, opened=opened),
            "mcp_servers": servers,
            "env": {n: value for n, value in _templates(environment).items() if n in variables},
            "healthcheck": _health_check(environment.healthcheck),
        },
        "solution": {"env": _templates(solution)} if solution is not None else {},
    }
    return tomlkit.dumps(_filled(values))


def opens_networks(task: Task) -> bool:
    """Whether each phase gets a public network, because services have names only in one.

    Raises:
        NotExpressibleError: services are on `localhost`, which Harbor supports only without a
            public network.
    """
    if task.environment.compose is None:
        return False
    phases = [task.in_step(step) for step in task.steps] or [task]
    verifiers = [phase.answer_key.verifier for phase in phases]
    networks = [task.environment.network, *(phase.problem.network for phase in phases)]
    networks += [each.network if each is not None else False for each in verifiers]
    is_limited = any(network is not True for network in networks)
    if task.environment.services_on_localhost and not is_limited:
        raise NotExpressibleError(
            "[environment] services_on_localhost: every phase has a public network, with which "
            "Harbor's services have names and are not on localhost"
        )
    return is_limited and not task.environment.services_on_localhost


def _step(task: Task, step: TaskStep, *, opened: bool) -> _Table:
    """A step with all of its values, so that no value of `[verifier]` applies."""
    own = task.in_step(step)
    return {
        "name": step.name,
        "artifacts": list(_artifacts(own)),
        "min_reward": dict(step.min_reward),
        "healthcheck": _health_check(step.healthcheck),
        "agent": {
            "timeout_sec": step.timeout_s,
            "user": account_of(step.user),
            **_network(step.network, opened=opened),
        },
        "verifier": _verifier(own, opened=opened),
    }


def _verifier(task: Task, *, opened: bool) -> _Table:
    environment = task.environment
    verifier = task.answer_key.verifier or Verifier.model_validate({"environment": "shared"})
    network = _network(verifier.network, opened=opened)
    collect: list[_Table] = []
    for hook in verifier.collect:
        usual = environment.user if hook.service is None else None
        user = hook.user or usual
        own = {"user": None if user is None else account_of(user)}
        collect.append(_seconds_keys({**hook.model_dump(), **own}))
    table: _Table = {
        # [tests] before has the time limit of the tests once more.
        "timeout_sec": task.problem.test_timeout_s * (2 if task.problem.test_before else 1),
        "environment_mode": "shared" if verifier.is_shared else "separate",
        "user": account_of(verifier.user or environment.user),
        **network,
        "env": _templates(verifier),
        "collect": collect,
    }
    if not verifier.is_shared:
        limits = {"cpus": verifier.cpus, "memory_mb": verifier.memory_mib}
        table["environment"] = {
            **_limits(environment),
            **{key: value for key, value in limits.items() if value is not None},
            "workdir": verifier.workdir or str(workdir_of(task)),
            **network,
            "env": _templates(environment),
        }
    return table


def _artifacts(task: Task) -> Iterator[_Table]:
    """The files that a verifier with its own environment gets; the whole work is a folder."""
    verifier = task.answer_key.verifier
    if verifier is None or verifier.is_shared:
        return
    for taken in verifier.takes if verifier.takes is not None else (".",):
        exclude = list(verifier.leaves.get(taken, ()))
        service, path = service_path(taken) or (None, workdir_of(task) / taken)
        if str(path) != _ALWAYS_COLLECTED or service or exclude:
            yield {"source": str(path), "service": service, "exclude": exclude}


def _limits(environment: TaskEnvironment) -> _Table:
    return {"cpus": environment.cpus, "memory_mb": environment.memory_mib}


def _network(network: Network, *, opened: bool) -> _Table:
    if opened or network is True:
        return {"network_mode": "public"}
    if network is False:
        return {"network_mode": "no-network"}
    return {"network_mode": "allowlist", "allowed_hosts": list(network)}


def _health_check(check: HealthCheck | None) -> _Table:
    return {} if check is None else _seconds_keys(check.model_dump())


def _seconds_keys(values: Mapping[str, object]) -> _Table:
    return {f"{key}ec" if key.endswith("_s") else key: value for key, value in values.items()}


def _templates(table: TaskEnvironment | Verifier | SolutionScript) -> dict[str, str]:
    """The values of variables; variables of the host become Harbor's templates."""
    literal = {n: value for n, value in table.env.items() if n not in table.env_from_host}
    if mistaken := split_env(literal)[1]:
        name = min(mistaken)
        raise NotExpressibleError(
            f"env.{name}: {literal[name]!r} would be a variable of the host in Harbor"
        )
    return _with_templates(table.env, table.env_from_host)


def _with_templates(values: Mapping[str, str], from_host: Mapping[str, str]) -> dict[str, str]:
    templates = {
        name: f"${{{source}:-{values[name]}}}" if name in values else f"${{{source}}}"
        for name, source in from_host.items()
    }
    return {**values, **templates}


def _filled(values: Mapping[str, object]) -> _Table:
    """The values without those that are None or empty; arrays of tables after plain values."""
    found: _Table = {}
    for name, value in values.items():
        new: object = value
        if isinstance(value, Mapping):
            new = _filled(value)
        elif isinstance(value, list):
            new = [_filled(each) if isinstance(each, Mapping) else each for each in value]
        if new is not None and new not in ([], {}, ()):
            found[name] = list(new) if isinstance(new, tuple) else new
    return found
