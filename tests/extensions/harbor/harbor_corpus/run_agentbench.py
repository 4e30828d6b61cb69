"""Judges the tasks of this corpus with agentbench and puts Harbor's rewards and ours into a table.

    python -m tests.extensions.harbor.harbor_corpus.run_agentbench --page docs/harbor.md [TASK ...]

There is a run for each of `oracle`, `nop` (agent `noop`) and `wrong` (the oracle, on a copy whose
solution is the task's `wrong/`). The exit code is 1 if a reward differs from expected.json.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentbench.runs.store.reading import read_run
from tests.extensions.harbor.harbor_corpus.run_harbor import AGENTS, CORPUS, EXPECTED, Judged, stage

COVERS = {
    "01-reward-text": "one reward in `reward.txt`, task file with all of `[task]`",
    "02-root-system": "packages, users and files outside the working folder, as root",
    "03-users": "another user for the agent and for the verifier",
    "04-separate-copy": "separate verifier in the same image, artifacts",
    "05-separate-image": "separate verifier with its own image, `exclude` of artifacts",
    "06-collect": "`collect` hooks before a separate verifier, one of which fails",
    "07-several-rewards": "several rewards in `reward.json`, schema 1.3",
    "08-healthcheck": "`healthcheck` of the environment, entrypoint of the image",
    "09-steps-gate": "steps with `min_reward`, mean",
    "10-web-database": "compose: web server and database",
    "11-mcp-skills": "MCP servers over HTTP and stdio, skills",
    "12-env-templates": "templates with defaults in all three `env`",
    "13-agent-timeout": "the agent runs out of time, its work counts",
    "14-verifier-timeout": "the verifier runs out of time",
    "15-verifier-crash": "the verifier leaves no reward",
    "16-buildkit": "Dockerfile with stages, `COPY --chmod`, `RUN --mount`",
    "17-workdir-resources": "`workdir`, limits of CPU, memory and storage, schema 1.2",
    "18-python-verifier": "a verifier in Python with two rewards, none named `reward`",
    "19-pytest-ctrf": "pytest with a CTRF report, fractions of a reward",
    "20-queue-worker": "compose: queue and worker, `collect` and artifacts of a service",
    "21-killed-service": "compose: a service that the agent can end",
    "22-steps-final": "steps with the last reward, users and verifiers of their own",
    "23-steps-service": "steps with a service, health checks and `collect`",
    "24-no-network": "`network_mode = \"no-network\"`",
    "25-allowlist": "`allowed_hosts`",
    "26-network-phases": "another network for each phase",
    "27-database-collect": "compose: PostgreSQL, `collect` as another user of a service",
    "28-unhealthy": "an environment that never becomes healthy",
    "29-unset-variable": "a variable of the host that is not set",
    "30-prebuilt-image": "`docker_image` without a Dockerfile",
    "31-broken-step": "a step that breaks",
    "32-here-document": "here-documents in a Dockerfile",
    "33-compose-main": "compose: settings of `main`, build arguments, a shared volume",
    "34-verifier-compose": "compose for a separate verifier",
    "35-steps-images": "steps whose verifiers have images of their own",
    "36-network-shared": "no network, services on `localhost`",
}  # fmt: skip
UNSET = "29-unset-variable"
_BEGIN, _END = "<!-- corpus: begin -->", "<!-- corpus: end -->"
_HEAD = f"""\
{_BEGIN}
| task | covers | oracle | nop | wrong | reasons |
| --- | --- | --- | --- | --- | --- |
"""

Program = Callable[..., "subprocess.CompletedProcess[str]"]
"""Calls agentbench with words, in the folder where it is to work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """What agentbench says about one attempt, or why it refuses the run."""

    task: str
    agent: str
    rewards: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None
    fault: str | None = None
    detail: str = ""


def judge(names: Iterable[str], folder: Path, program: Program, *options: str) -> Iterator[Ours]:
    """Import these tasks and run each agent once on all of them."""
    names = list(names)
    for kind in ("oracle", "wrong"):
        for name in names:
            stage(CORPUS / name, kind, folder / "theirs" / kind)
        words = ("tasks", "import", "harbor", f"theirs/{kind}", "--out", f"tasks/{kind}")
        done = program(*words, "--no-prove")
        assert done.returncode == 0, done.stderr
    for agent in AGENTS:
        tasks = f"tasks/{'wrong' if agent == 'wrong' else 'oracle'}"
        words = ("run", tasks, "--agent", "noop" if agent == "nop" else "oracle")
        done = program(*words, "--run-id", agent, "--sandbox", "docker", *options)
        run = folder / "runs" / agent
        if not run.exists():
            refusal = done.stderr.strip().splitlines()[-1]
            yield from (_refused(name, agent, refusal) for name in names)
            continue
        yield from judged(run, agent, names)


def judged(run: Path, agent: str, names: Iterable[str]) -> Iterator[Ours]:
    """What the records of a run say."""
    of = {key: name for name in names for key in (name, name.partition("-")[2])}
    records = {record.task_id: record for record in read_run(run).records()}
    for task_id, record in records.items():  # the last of several tries
        yield Ours(
            task=of[task_id],
            agent=agent,
            rewards=record.rewards or {},
            reason=record.failure_reason,
            fault=record.fault,
            detail=record.detail.partition("\n")[0],
        )


def _refused(task: str, agent: str, refusal: str) -> Ours:
    return Ours(task=task, agent=agent, reason="refused", detail=refusal)


def same(ours: Ours, harbors: Judged | None) -> bool:
    """Whether the rewards are Harbor's own, and only what Harbor refuses is refused."""
    if harbors is None:
        return True
    refused = (ours.reason == "refused") == ("refused" in harbors)
    return refused and ours.rewards == (harbors["rewards"] or {})


def rows(all_ours: Iterable[Ours], expected: Mapping[str, Mapping[str, Judged]]) -> Iterator[str]:
    """A line of the table for each task."""
    by_task: dict[str, dict[str, Ours]] = {}
    for ours in all_ours:
        by_task.setdefault(ours.task, {})[ours.agent] = ours
    for task, of in sorted(by_task.items()):
        cells = [_cell(of[agent], expected.get(task, {}).get(agent)) for agent in AGENTS]
        yield f"| {' | '.join([task, COVERS[task], *cells, _reasons(of)])} |"


def _cell(ours: Ours, harbors: Judged | None) -> str:
    theirs = "not run" if harbors is None else _rewards(harbors["rewards"] or {})
    if harbors and not harbors["rewards"]:
        theirs = "refused" if "refused" in harbors else str(harbors["exception"])
    mine = "refused" if ours.reason == "refused" else _rewards(ours.rewards)
    text = f"{theirs} / {mine}"
    return text if same(ours, harbors) else f"**{text}**"


def _rewards(rewards: Mapping[str, float]) -> str:
    if not rewards:
        return "none"
    if list(rewards) == ["reward"]:
        return f"{rewards['reward']:.3g}"
    return ", ".join(f"{name} {value:.3g}" for name, value in sorted(rewards.items()))


def _reasons(of: Mapping[str, Ours]) -> str:
    agents: dict[str, list[str]] = {}
    for agent in AGENTS:
        if reason := of[agent].reason:
            agents.setdefault(f"`{reason}`" if reason.isupper() else reason, []).append(agent)
    return "; ".join(f"{', '.join(who)}: {reason}" for reason, who in agents.items())


def put_table(page: Path, lines: Iterable[str]) -> None:
    """Replace the table between the two comments of a page."""
    table = _HEAD + "".join(f"{line}\n" for line in lines) + _END
    between = re.compile(f"{_BEGIN}.*?{_END}", re.DOTALL)
    text, count = between.subn(lambda _: table, page.read_text("utf-8"))
    assert count == 1, f"{page}: no {_BEGIN} … {_END}"
    page.write_text(text, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path, help="the page whose table is replaced")
    parser.add_argument("--keep", type=Path, help="an empty folder for the tasks and runs")
    parser.add_argument("tasks", nargs="*", help="names of tasks (default: all)")
    options = parser.parse_args()
    tasks = options.tasks or [file.parent.name for file in sorted(CORPUS.glob("*/task.toml"))]
    expected = json.loads(EXPECTED.read_text())["tasks"]
    kept = {name: text for name, text in os.environ.items() if not name.startswith("CORPUS_")}
    found: list[Ours] = []

    def of(ours: Ours) -> Judged | None:
        return expected.get(ours.task, {}).get(ours.agent)

    with tempfile.TemporaryDirectory(prefix="agentbench-corpus-") as scratch:
        for part in ([name for name in tasks if name != UNSET], [UNSET] if UNSET in tasks else []):
            folder = (options.keep or Path(scratch)) / ("unset" if part == [UNSET] else "all")
            folder.mkdir(parents=True)

            def program(*words: str, folder: Path = folder) -> "subprocess.CompletedProcess[str]":
                argv = [sys.executable, "-m", "agentbench", *words, "-q"]
                return subprocess.run(argv, cwd=folder, env=kept, capture_output=True, text=True)

            for ours in judge(part, folder, program) if part else ():
                mark = "same" if same(ours, of(ours)) else "DIFFERENT"
                facts = (mark, dict(ours.rewards), ours.reason, ours.detail)
                print(ours.task, ours.agent, *facts, flush=True)
                found.append(ours)
    if options.page:
        put_table(options.page, rows(found, expected))
    sys.exit(not all(same(ours, of(ours)) for ours in found))


if __name__ == "__main__":
    main()
