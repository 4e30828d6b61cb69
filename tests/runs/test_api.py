import re
from contextlib import closing

import pytest

from agentbench import AttemptRecord, RunOptions, run_attempt, run_tasks
from agentbench.agents.interface import AgentOutcome
from agentbench.errors import InputError, UsageError
from agentbench.runs.store.configuration import RunEnding
from agentbench.runs.store.store import RunStore
from agentbench.scoring.evidence import AgentEnding
from tests.e2e.small_task import SmallTask
from tests.fakes.staging import small_task


@pytest.fixture
def options(tmp_path) -> RunOptions:
    return RunOptions(runs_dir=tmp_path / "runs", jobs=1)


def test_one_attempt_gives_one_record(task, provider, options):
    record = run_attempt(task, "oracle", sandbox=provider, options=options)
    assert isinstance(record, AttemptRecord)
    assert record.resolved


def test_a_folder_of_several_tasks_is_no_attempt(tmp_path, provider, options):
    for name in "ab":
        (tmp_path / "tasks" / name).mkdir(parents=True)
        SmallTask().write(tmp_path / "tasks" / name)
    with pytest.raises(InputError, match="expected one task, found 2; use run_tasks"):
        run_attempt(tmp_path / "tasks", "noop", sandbox=provider, options=options)
    assert not options.runs_dir.exists()


def test_what_is_overridden_is_the_agent_the_sandbox_and_the_attempts(task, provider, options):
    told = options.replace(agent="oracle", sandbox="docker", attempts=9)
    assert run_attempt(task, "noop", sandbox=provider, options=told).agent == "noop"


def test_records_come_as_attempts_end(task, provider, options):
    records = run_tasks([task], "noop", sandbox=provider, attempts=2, options=options)
    assert [record.attempt for record in records] == [1, 2]


def test_loaded_tasks_and_folders_may_be_mixed(task, provider, options, tmp_path):
    other = small_task(tmp_path / "other")
    records = run_tasks([task, other.folder], "noop", sandbox=provider, options=options)
    assert {record.task_id for record in records} == {task.id, "other"}


def test_one_path_needs_no_list(task, provider, options):
    for given in (task, task.folder, str(task.folder)):
        (record,) = run_tasks(given, "noop", sandbox=provider, options=options)
        assert record.task_id == task.id


def solve(_problem, _sandbox, _budget, _model):
    """An agent that is a function."""
    return AgentOutcome(ending=AgentEnding.SUBMITTED)


class Solver:
    """An agent that is made of its class."""

    def solve(self, *given):
        return solve(*given)


@pytest.mark.parametrize("agent", [solve, Solver, Solver()])
def test_a_function_a_class_and_an_object_are_agents(task, provider, options, agent):
    record = run_attempt(task, agent, sandbox=provider, options=options)
    assert record.agent == f"{__name__}:{'solve' if agent is solve else 'Solver'}"
    assert record.agent_run is not None
    assert record.agent_run.ending is AgentEnding.SUBMITTED


def test_what_is_no_agent_is_refused_in_terms_of_arguments(task, provider, options):
    for agent, result in (
        (3, "agent='builtins:int': expected an object with solve(problem, sandbox, budget, model)"),
        (
            lambda problem: problem,
            "expected a function of (problem, sandbox, budget, model), found",
        ),
        ("command", "agent='command' needs agent_command='…'"),
        ("nobody", "agent='nobody': no such agent; known: oracle"),
    ):
        with pytest.raises(UsageError, match=re.escape(result)) as raised:
            run_tasks([task], agent, sandbox=provider, options=options)
        assert "--" not in str(raised.value)
    with pytest.raises(UsageError, match=r"^attempts: 0 is not above 0$"):
        run_tasks([task], "noop", sandbox=provider, attempts=0, options=options)


def test_closing_the_iterator_stops_the_run(task, provider, options):
    records = run_tasks([task], "noop", sandbox=provider, attempts=5, options=options)
    with closing(records):
        next(records)
    (folder,) = options.runs_dir.iterdir()
    store = RunStore.open(folder)
    assert store.configuration().ending is RunEnding.INTERRUPTED
    assert len(store.latest()) < 5


def test_faults_are_raised_at_once_and_not_at_the_first_record(task, provider, options, tmp_path):
    with pytest.raises(UsageError):
        run_tasks([task], "nobody", sandbox=provider, options=options)
    with pytest.raises(InputError):
        run_tasks([tmp_path / "nothing"], "noop", sandbox=provider, options=options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tasks": ""}, "tasks: expected a loaded task, or the path of a task"),
        ({"tasks": 3}, "found 3"),
        ({"tasks": None}, "found None"),
        ({"tasks": ["tasks", 3]}, "found 3"),
        ({"sandbox": None}, "sandbox: expected auto, docker, bubblewrap, process or a provider"),
        ({"sandbox": "dcoker"}, "unknown sandbox 'dcoker'"),
        ({"options": {}}, "options: expected RunOptions(…), found {}"),
        ({"attempts": "x"}, "attempts: 'x' is not a whole number"),
        ({"attempts": 10**20}, "attempts: 100000000000000000000 is above 100000"),
        ({"agent": None}, "agent is missing"),
    ],
)
def test_wrong_arguments_are_refused_by_name(task, provider, options, arguments, message):
    given = {"tasks": task, "agent": "noop", "sandbox": provider, "options": options, **arguments}
    with pytest.raises(UsageError, match=re.escape(message)):
        list(run_tasks(given.pop("tasks"), given.pop("agent"), **given))
    assert not options.runs_dir.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"attempts": 1.5}, "attempts: 1.5 is not a whole number"),
        ({"probe": "maybe"}, "probe: 'maybe' is neither true nor false"),
        ({"say": 3}, "say: 3 is not a function"),
        ({"runs_dir": 3}, "runs_dir: 3 is not a path"),
        ({"agent_timeout": "soon"}, "agent_timeout: 'soon' is neither a number of seconds nor a"),
        ({"agent_timeout": float("nan")}, "agent_timeout: nan is neither a number of seconds"),
    ],
)
def test_options_of_a_wrong_type_are_refused_without_words_of_a_library(arguments, message):
    with pytest.raises(UsageError, match=re.escape(f"RunOptions: {message}")) as refused:
        RunOptions(**arguments)
    assert "Input should" not in str(refused.value)


def test_a_cost_limit_that_no_sum_reaches_is_refused(task, provider, options):
    endless = options.replace(max_cost_usd=float("nan"))
    with pytest.raises(UsageError, match="max_cost_usd: nan is not a number of at least 0"):
        run_tasks(task, "noop", sandbox=provider, options=endless)
