import json
from contextlib import closing
from dataclasses import replace

import pytest

from agentbench.agents.interface import AgentOutcome
from agentbench.agents.noop import NoopAgent
from agentbench.errors import InputError, UnavailableError, UsageError
from agentbench.runs.configuration import RunEnding
from agentbench.runs.run import RunOptions, resume_run, start_run
from agentbench.runs.store import RunStore
from agentbench.sandbox.choose import choose_provider
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.task import Environment
from tests.fakes.scripted_agent import ScriptedAgent
from tests.fakes.staging import small_task
from tests.fakes.unreliable_provider import UnreliableProvider


@pytest.fixture
def options(provider, tmp_path) -> RunOptions:
    return RunOptions(agent="noop", sandbox=provider, runs_dir=tmp_path / "runs", jobs=1)


def ending(run) -> RunEnding | None:
    return RunStore.open(run.store.folder).configuration().ending


def made(run) -> list[tuple[str, int]]:
    return [(record.task_id, record.attempt) for record in run.store.latest().records]


def test_a_run_knows_all_that_it_was_asked_before_its_first_attempt(task, options, provider):
    run = start_run([task], replace(options, attempts=2, max_cost_usd=3.0, model="m"))
    kept = RunStore.open(run.store.folder).configuration()
    assert kept == run.configuration
    assert (kept.agent, kept.model, kept.attempts, kept.max_cost_usd) == ("noop", "m", 2, 3.0)
    assert kept.sandbox == provider.name
    assert kept.sandbox_facts == dict(provider.describe())
    assert [(entry.id, entry.digest) for entry in kept.tasks] == [(task.id, task.digest)]
    assert kept.ending is None
    assert [item.attempt for item in run.planned] == [1, 2]


def test_a_run_to_its_end_says_finished(task, options):
    run = start_run([task], options)
    assert len(list(run.attempts())) == 1
    assert ending(run) is RunEnding.FINISHED


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_whose_consumer_breaks_off_says_interrupted(task, options, jobs):
    run = start_run([task], replace(options, attempts=4, jobs=jobs))
    with closing(run.attempts()) as records:
        next(records)
    assert ending(run) is RunEnding.INTERRUPTED
    assert len(made(run)) < 4


def test_a_run_that_was_cancelled_says_interrupted(task, options):
    run = start_run([task], options)
    run.cancel()
    list(run.attempts())
    assert ending(run) is RunEnding.INTERRUPTED


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"attempts": 0}, "--attempts: 0 is not above 0"),
        ({"jobs": 0}, "--jobs: 0 is not above 0"),
        ({"retries": -1}, "--retries: -1 is below 0"),
        ({"timeout_scale": 0.0}, "--timeout-scale: 0.0"),
        ({"timeout_scale": float("nan")}, "--timeout-scale: nan"),
        ({"timeout_scale": float("inf")}, "--timeout-scale: inf"),
        ({"run_id": "../x"}, "--run-id: '../x' is no plain name"),
        ({"run_id": ""}, "--run-id"),
        ({"run_id": ".hidden"}, "--run-id"),
        ({"agent": "nobody"}, "--agent nobody: no such agent"),
        ({"agent": "command"}, "needs --agent-command"),
        ({"agent": "oracle", "agent_command": "x"}, "--agent-command goes with"),
        ({"agent": object()}, "agent: expected an object with a name and solve"),
        ({"sandbox": "castle"}, "no sandbox is called 'castle'"),
    ],
)
def test_what_is_wrong_is_said_before_a_folder_is_made(task, options, wrong, said):
    with pytest.raises(UsageError, match=said.replace(".", r"\.").replace("(", r"\(")):
        start_run([task], replace(options, **wrong))
    assert not options.runs_dir.exists()


def test_an_image_that_is_not_there_is_said_before_a_folder_is_made(task, options):
    odd = task.model_copy(update={"environment": Environment(image="no/such:image")})
    with pytest.raises(UnavailableError, match=f"{task.id}: .*no/such:image"):
        start_run([task, odd], options)
    assert not options.runs_dir.exists()


def test_an_agent_that_is_not_trusted_needs_a_word_to_run_unsandboxed(task, options, tmp_path):
    process = choose_provider("process", cache_dir=tmp_path).provider
    unwalled = replace(options, sandbox=UnreliableProvider())
    assert unwalled.sandbox.name == process.name
    command = replace(unwalled, agent="command", agent_command="true")
    with pytest.raises(UsageError, match="--allow-unsandboxed"):
        start_run([task], command)
    for allowed in (
        replace(command, allow_unsandboxed=True),
        replace(unwalled, agent="oracle"),
        replace(unwalled, agent=NoopAgent()),
    ):
        assert start_run([task], allowed).configuration.sandbox == "process"


def test_tasks_take_turns_and_a_seed_shuffles_them(tmp_path, options):
    tasks = [small_task(tmp_path / name) for name in "abcdef"]

    def order(**more):
        run = start_run(tasks, replace(options, attempts=2, **more))
        return [(item.task.id, item.attempt) for item in run.planned]

    assert order() == [(name, attempt) for attempt in (1, 2) for name in "abcdef"]
    shuffled = order(shuffle_seed=7)
    assert shuffled == order(shuffle_seed=7) != order()
    assert sorted(shuffled) == sorted(order())


def test_resuming_makes_what_was_not_finished(task, options):
    run = start_run([task], replace(options, attempts=3))
    with closing(run.attempts()) as records:
        first = next(records)
    resumed = resume_run(run.store.folder)
    assert [item.attempt for item in resumed.planned] == [2, 3]
    assert len(list(resumed.attempts())) == 2
    assert made(resumed) == [(task.id, 1), (task.id, 2), (task.id, 3)]
    assert resumed.store.read().records[0] == first
    assert ending(resumed) is RunEnding.FINISHED
    assert resume_run(run.store.folder).planned == ()


def test_an_attempt_that_ctrl_c_cut_off_is_made_again_and_kept(task, options):
    run = start_run([task], options)
    run.cancel()
    list(run.attempts())
    resumed = resume_run(run.store.folder)
    (record,) = resumed.attempts()
    assert record.retry_of == 1
    assert len(resumed.store.read().records) == 2


def test_a_run_that_goes_on_says_so_until_it_ends(task, options):
    run = start_run([task], options)
    run.cancel()
    list(run.attempts())
    resumed = resume_run(run.store.folder)
    with closing(resumed.attempts()) as records:
        next(records)
        assert ending(resumed) is None


def test_an_agent_that_was_handed_in_is_handed_in_again(task, options):
    done = AgentOutcome(ending=AgentEnding.SUBMITTED)
    agent = ScriptedAgent(lambda _given: done, name="mine")
    run = start_run([task], replace(options, agent=agent))
    with pytest.raises(UsageError, match="no such agent"):
        resume_run(run.store.folder)
    with pytest.raises(UsageError, match="is a run of mine, not of noop"):
        resume_run(run.store.folder, agent=NoopAgent())
    (record,) = resume_run(run.store.folder, agent=agent).attempts()
    assert record.agent == "mine"


def test_a_task_that_changed_since_is_not_resumed(tmp_path, options):
    task = small_task(tmp_path / "small")
    run = start_run([task], options)
    (tmp_path / "small" / "instruction.md").write_text("another bug\n")
    with pytest.raises(InputError, match="changed since the run began: small"):
        resume_run(run.store.folder)


def test_a_torn_record_is_told_when_a_run_is_resumed(task, options):
    run = start_run([task], options)
    (run.store.folder / "attempts.jsonl").write_text('{"torn')
    resumed = resume_run(run.store.folder)
    assert "set aside" in resumed.warnings[0]
    assert len(resumed.planned) == 1


def test_run_json_is_for_other_programs_too(task, options):
    run = start_run([task], options)
    document = json.loads((run.store.folder / "run.json").read_text())
    assert document["schema_version"] == 1
    assert document["tasks"][0]["id"] == task.id
