"""The scripts, the Dockerfile and the task.toml of an exported Harbor folder."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

import tomlkit

from agentbench.tasks.problem import PytestCommand
from agentbench.tasks.task import Task

WORKDIR = "/app"
REPOSITORY_FOLDER = "agentbench-repo"
"""The folder in environment/ with the repository."""

_COMMIT = (
    "git init --quiet && git add --all --force && git -c user.name=agentbench "
    "-c user.email=agentbench@localhost commit --quiet --allow-empty "
    "--message 'The repository of the task'"
)
_TOOLS = (
    "command -v git > /dev/null || { apt-get update && apt-get install --yes "
    "--no-install-recommends ca-certificates git && rm -rf /var/lib/apt/lists/*; }"
)
_PYTEST = "python -m pytest --version || python -m pip install pytest"
_TEST_SCRIPT = """\
#!/bin/bash
# Made by agentbench: the hidden tests over the work, and the reward that they give.
cd {place} || exit 1
echo 0 > /logs/verifier/reward.txt
{removed}cp -R /tests/hidden/. {place}/
export AGENTBENCH_EXPECTED=/tests/expected.json AGENTBENCH_REWARD=/logs/verifier/reward.txt
PYTHONPATH=/tests/judge${{PYTHONPATH:+:$PYTHONPATH}} {command}
"""
_SOLVE_SCRIPT = """\
#!/bin/bash
# Made by agentbench: the reference solution.
cd {place} && git apply --whitespace=nowarn /solution/solution.patch
"""


def test_sh(command: PytestCommand, targets: Sequence[str], removed: Iterable[str]) -> str:
    """The script that runs the hidden tests and writes the reward.

    Args:
        command: How the project runs pytest.
        targets: The tests to run.
        removed: Files that the hidden tests delete.
    """
    start = [command.interpreter, "-m", "pytest"] if command.as_module else ["pytest"]
    words = [*start, "-p", "agentbench_judge", *command.options, *targets]
    gone = " ".join(shlex.quote(path) for path in removed)
    return _TEST_SCRIPT.format(
        place=WORKDIR,
        removed=f"rm -f -- {gone}\n" if gone else "",
        command=shlex.join(words),
    )


def solve_sh() -> str:
    """The script that applies the reference solution."""
    return _SOLVE_SCRIPT.format(place=WORKDIR)


def dockerfile(task: Task, base: str, *, bundle: str | None = None) -> str:
    """The Dockerfile; it copies the repository or a git bundle, or clones it.

    Args:
        task: The task.
        base: The task's own Dockerfile, or a FROM line.
        bundle: The name of a git bundle next to it.
    """
    lines = [base.rstrip("\n"), "USER root", f"RUN {_TOOLS}", f"WORKDIR {WORKDIR}"]
    url, commit = task.source.url, task.source.commit
    if task.source.files is not None:
        lines.append(f"COPY {REPOSITORY_FOLDER}/ {WORKDIR}/")
    elif bundle is not None:
        lines.append(f"COPY {bundle} /tmp/{bundle}")
        url = f"/tmp/{bundle}"
    if task.source.files is None:
        clone = f"git clone --quiet {shlex.quote(url or '')} . && git checkout --quiet {commit}"
        lines.append(_run(f"{clone} && rm -rf .git"))
    lines.append(_run(_COMMIT))
    lines += [f"ENV {name}={_quoted(value)}" for name, value in task.environment.env.items()]
    lines += [_run(command) for command in task.setup.commands]
    return "\n".join([*lines, _run(_PYTEST), ""])


def task_toml(task: Task) -> str:
    """The text of Harbor's task.toml, schema 1.4."""
    environment = task.environment
    document = tomlkit.document()
    document["schema_version"] = "1.4"
    tables: Mapping[str, Mapping[str, object]] = {
        "metadata": {"title": task.problem.title, "tags": list(task.problem.tags)},
        "verifier": {"timeout_sec": task.problem.test_timeout_s, "environment_mode": "shared"},
        "agent": {"timeout_sec": task.problem.limits.timeout_s},
        "environment": {
            "build_timeout_sec": task.setup.timeout_s,
            "cpus": environment.cpus,
            "memory_mb": environment.memory_mib,
            "storage_mb": environment.disk_mib,
            "workdir": WORKDIR,
        },
    }
    for name, values in tables.items():
        table = tomlkit.table()
        table.update(values)
        document[name] = table
    return tomlkit.dumps(document)


def expected_json(task: Task) -> str:
    """The names of the deciding tests."""
    key = task.answer_key
    kept = () if key.pass_to_pass == "baseline" else key.pass_to_pass
    return json.dumps({"fail_to_pass": key.fail_to_pass, "pass_to_pass": kept}, indent=1) + "\n"


def under(folder: str, path: PurePosixPath) -> str:
    """A path in one of Harbor's folders."""
    return f"{folder}/{path.as_posix()}"


def _run(command: str) -> str:
    return f"RUN {json.dumps(['/bin/sh', '-c', command])}"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return '"' + escaped.replace("\n", "\\\n") + '"'
