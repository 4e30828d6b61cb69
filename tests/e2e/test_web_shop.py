"""Attempts at a web application whose database works, dies, never starts, or fills its disk."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Thread

import pytest

from agentbench import AttemptRecord, RunOptions, run_attempt
from agentbench.agents.command import CommandAgent
from agentbench.agents.interface import AgentOutcome
from agentbench.sandbox.docker.compose_model import SERVICE_LABEL
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.sandbox.ownership import ProcessOwner, labels_of
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.control_level import ControlLevel
from agentbench.taxonomy import FailureReason, Fault, StageName
from tests.e2e.bench import WHOLE, Bench
from tests.e2e.web_shop import COMPOSE, FIX, web_shop
from tests.fakes.scripted_agent import Given, ScriptedAgent
from tests.needed import DOCKER, INDEX
from tests.patience import wait_until
from tests.sandbox.compose_services import compose
from tests.sandbox.docker_fixtures import engine

__all__ = ["compose", "engine"]

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("compose")]

SQL = """python -c "import pg8000.native as pg
pg.Connection('postgres', host='db', database='shop').run('{}')" """
DIES = SQL.format("copy (select 1) to program \\$\\$kill -QUIT 1\\$\\$")
FILL = "create table {} as select n, md5(n::text) from generate_series(1, 5000000) n"
FILLS = "; ".join(SQL.format(FILL.format(name)) for name in "ab")
ENDS_IT = """cat >> shop.py <<'END'

@app.after_request
def end(answer):
    if flask.request.method == "PUT":
        sql("copy (select 1) to program $$kill -QUIT 1$$")
    return answer
END
"""
Script = Callable[[Sandbox], object]


@pytest.fixture
def attempt(
    docker: DockerProvider, engine: Engine, cache_dir: Path, tmp_path: Path
) -> Callable[..., AttemptRecord]:
    """Makes one attempt at the task with an agent that does what a function does."""
    missing = [f"agentbench-tests/{name}" for name in ("postgres:15", "redis:7")]
    if not all(map(docker.has_image, missing)):
        DOCKER.refuse(f"{missing}: see tests/e2e/service_images/build_images.sh")
    options = RunOptions(
        runs_dir=tmp_path / "runs",
        cache_dir=cache_dir,
        retries=0,
        integrity_controls=ControlLevel.OFF,
    )
    bench = Bench(provider=docker, engine=engine, options=options)

    def make(
        work: Script | CommandAgent, *, walked: tuple[StageName, ...] = WHOLE, **task: str
    ) -> AttemptRecord:
        """Make the attempt."""

        def solve(given: Given) -> AgentOutcome:
            """Call the function."""
            assert not isinstance(work, CommandAgent)
            work(given.sandbox)
            return AgentOutcome(ending=AgentEnding.SUBMITTED)

        folder = web_shop(tmp_path / "shop", **task)
        others = bench.left_over()
        agent = work if isinstance(work, CommandAgent) else ScriptedAgent(solve)
        record = run_attempt(folder, agent, sandbox=docker, options=options)
        assert [each for each in bench.left_over() if each not in others] == []
        if record.failure_reason is FailureReason.SETUP_FAILED:
            INDEX.refuse(record.detail or "")
        bench.check(record, walked=walked)
        return record

    return make


def shell(sandbox: Sandbox, script: str) -> str:
    """Run a script as the agent; its output."""
    command = Command(argv=("sh", "-c", script), timeout=timedelta(minutes=5))
    result = sandbox.run(command)
    return result.stdout


def warnings_of(record: AttemptRecord, stage: StageName) -> tuple[str, ...]:
    """What a stage says of its services."""
    return next(each.evidence.warnings for each in record.stages if each.name is stage)


def test_a_fix_is_seen_through_the_database_and_the_cache(attempt) -> None:
    assert attempt(lambda sandbox: shell(sandbox, FIX)).resolved


def test_a_database_that_the_agent_ends_is_a_warning_and_the_tests_decide(attempt) -> None:
    def script(sandbox: Sandbox) -> None:
        """Fix the program, and end the database."""
        shell(sandbox, FIX)
        shell(sandbox, DIES)
        wait_until(lambda: not shell(sandbox, "getent hosts db"))

    record = attempt(script)
    assert record.resolved, record.detail
    (warning,) = warnings_of(record, StageName.AGENT_RUN)
    assert warning.startswith("service db ended with exit code ")
    assert warnings_of(record, StageName.FINAL_TEST) == ()


def test_a_database_that_is_killed_in_the_final_test_does_not_count_against_the_agent(
    attempt, engine: Engine
) -> None:
    def script(sandbox: Sandbox) -> None:
        """Fix the program, and let the database of the final test be killed once it is open."""
        shell(sandbox, FIX)
        known = {*containers(engine, None), *containers(engine, "db")}
        killers.append(Thread(target=kill, args=(known,)))
        killers[0].start()

    def kill(known: set[str]) -> None:
        """Kill the next database when its sandbox has started."""
        wait_until(lambda: containers(engine, None) - known)
        (database,) = containers(engine, "db") - known
        with engine.api("kill the database of the final test") as api:
            api.kill(database)

    killers: list[Thread] = []
    record = attempt(script)
    killers[0].join()
    assert record.resolved, record.detail
    assert warnings_of(record, StageName.FINAL_TEST) == (
        "in a first run: service db ended with exit code 137",
    )


def containers(engine: Engine, service: str | None) -> set[str]:
    """The running containers of a service (None: of sandboxes)."""
    labels = labels_of("sandbox", ProcessOwner.current())
    filters = {"label": [f"{name}={value}" for name, value in labels.items()]}
    with engine.api("look at the containers") as api:
        found = api.containers(filters=filters)
    return {each["Id"] for each in found if each["Labels"].get(SERVICE_LABEL) == service}


def test_a_database_that_the_agents_code_ends_fails_the_tests_by_the_agents_fault(attempt) -> None:
    record = attempt(lambda sandbox: shell(sandbox, f"{FIX}; {ENDS_IT}"))
    assert (record.failure_reason, record.fault) == (FailureReason.TESTS_FAILED, Fault.AGENT)
    first, second = warnings_of(record, StageName.FINAL_TEST)
    assert first.startswith("in a first run: service db ended with exit code ")
    assert second.startswith("service db ended with exit code ")


def test_a_database_that_never_becomes_healthy_is_the_tasks_fault(attempt) -> None:
    sick = COMPOSE.replace('"-d", "shop"]', '"-p", "1"]').replace("retries: 120", "retries: 2")
    record = attempt(print, walked=WHOLE[:1], compose=sick)
    assert (record.failure_reason, record.fault) == (FailureReason.SANDBOX_ERROR, Fault.TASK)
    assert "service db is unhealthy: db:1 - no response" in record.detail


def test_a_database_whose_disk_the_agent_fills_is_the_agents_fault(attempt) -> None:
    record = attempt(CommandAgent(FILLS), environment="disk_mib = 400")
    assert (record.failure_reason, record.fault) == (FailureReason.SANDBOX_ERROR, Fault.AGENT)
    assert "400 MiB" in record.detail
