"""A command whose program is missing is found before the first attempt, and no other one."""

from contextlib import closing
from datetime import timedelta

import pytest

from agentbench.agents.command import CommandAgent
from agentbench.agents.interface import AgentOutcome
from agentbench.agents.reference import NoopAgent
from agentbench.errors import InputError, UsageError
from agentbench.runs.start import check_agent_programs, check_solutions, resume_run, start_run
from agentbench.runs.store.configuration import RunEnding
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.control_level import ControlLevel
from agentbench.taxonomy import FailureReason, Fault
from tests.e2e.small_task import BUGGY, SERIAL
from tests.fakes.scripted_agent import ScriptedAgent
from tests.fakes.staging import small_task

INSTALLS = (
    "commands = [\"printf '#!/bin/sh\\\\n' > $(dirname $(command -v python))/set-up-agent\", "
)
INSTALLS += '"chmod +x $(dirname $(command -v python))/set-up-agent"]'
FILES = {"basket.py": BUGGY, "tests/test_basket.py": "", "serial.txt": SERIAL}


@pytest.fixture
def check(workshop):
    def check_(line, *tasks, **more):
        result = []
        check_agent_programs(CommandAgent(line), tasks, workshop(**more), say=result.append)
        return result

    return check_


@pytest.mark.parametrize(
    "line", ["my-agent", "cat {instruction} | my-agent --fix", "/opt/my-agent"]
)
def test_a_program_that_no_image_has_is_missing(check, tmp_path, line):
    task = small_task(tmp_path / "small", files=FILES)
    with pytest.raises(UsageError, match=r"^Agent command not found: .*my-agent; .* in small"):
        check(line, task)


def test_a_shell_decides_about_lines_that_are_more_than_a_pipeline(check, tmp_path):
    task = small_task(tmp_path / "small", files=FILES)
    assert check("my-agent || python -c pass", task) == []
    assert check("python -c pass", task) == []
    check_agent_programs(NoopAgent(), [task], None, say=print)  # has no programs


def test_what_set_up_installs_and_the_repository_holds_is_found(check, tmp_path):
    task = small_task(tmp_path / "small", setup=INSTALLS, files=FILES)
    assert check("set-up-agent", task) == ["preparing small, to look for set-up-agent in it"]
    assert len(check("sh ./own-agent", task)) == 0
    with pytest.raises(UsageError, match=r"not found: \./own-agent; "):
        check("./own-agent", task)
    with pytest.raises(UsageError, match="not found: my-agent; "):
        check("my-agent", task)
    other = small_task(tmp_path / "other", files=FILES)
    assert check("set-up-agent", other, task)  # one task with the program is enough


@pytest.mark.parametrize(
    ("setup", "more"),
    [('commands = ["false"]', {}), ('commands = ["true"]', {"use_cache": False})],
    ids=["set-up fails", "no cache"],
)
def test_where_a_task_cannot_be_prepared_before_its_attempt_that_tells(
    check, tmp_path, setup, more
):
    check("my-agent", small_task(tmp_path / "small", setup=setup, files=FILES), **more)


def test_tasks_take_turns_and_a_seed_shuffles_them(tmp_path, options):
    tasks = [small_task(tmp_path / name) for name in "abcdef"]

    def order(**more):
        run = start_run(tasks, options.replace(attempts=2, **more))
        return [(item.task.id, item.attempt) for item in run.planned]

    assert order() == [(name, attempt) for attempt in (1, 2) for name in "abcdef"]
    shuffled = order(shuffle_seed=7)
    assert shuffled == order(shuffle_seed=7) != order()
    assert sorted(shuffled) == sorted(order())


def ending(run) -> RunEnding | None:
    return RunStore.open(run.store.folder).configuration().ending


def made(run) -> list[tuple[str, int]]:
    return [(record.task_id, record.attempt) for record in run.store.latest()]


def test_resuming_makes_what_was_not_finished(task, options):
    run = start_run([task], options.replace(attempts=3))
    with closing(run.attempts()) as records:
        first = next(records)
    resumed = resume_run(run.store.folder)
    assert [item.attempt for item in resumed.planned] == [2, 3]
    assert len(list(resumed.attempts())) == 2
    assert made(resumed) == [(task.id, 1), (task.id, 2), (task.id, 3)]
    assert next(read_run(resumed.store.folder).records()) == first
    assert ending(resumed) is RunEnding.FINISHED
    assert len(resume_run(run.store.folder).planned) == 0


def test_every_setting_of_a_run_holds_when_it_is_resumed(task, options):
    changed = options.replace(
        timeout_scale=3.0,
        attempt_timeout=timedelta(hours=2),
        max_outage=timedelta(minutes=1),
        retries=5,
        use_cache=False,
        integrity_controls=ControlLevel.OFF,
        shuffle_seed=4,
    )
    run = start_run([task], changed)
    resumed = resume_run(run.store.folder)
    assert resumed.resources.settings == run.resources.settings == changed.settings()
    assert resumed.configuration.settings() == changed.settings()


def test_an_attempt_that_ctrl_c_cut_off_is_made_again_and_kept(task, options):
    agent = ScriptedAgent(lambda _given: run.cancel(), name="noop")
    run = start_run([task], options.replace(agent=agent))
    list(run.attempts())
    resumed = resume_run(run.store.folder)
    (record,) = resumed.attempts()
    assert record.retry_of == 1
    assert len(tuple(read_run(resumed.store.folder).records())) == 2


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
    run = start_run([task], options.replace(agent=agent))
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


def test_what_the_infrastructure_failed_to_the_last_retry_is_made_again_when_asked(task, options):
    outcomes = [AgentEnding.LLM_ERROR, AgentEnding.SUBMITTED]
    agent = ScriptedAgent(lambda _given: AgentOutcome(ending=outcomes.pop(0)), name="mine")
    run = start_run([task], options.replace(agent=agent, retries=0))
    (lost,) = run.attempts()
    assert lost.fault is Fault.INFRASTRUCTURE

    assert len(resume_run(run.store.folder, agent=agent).planned) == 0
    resumed = resume_run(run.store.folder, agent=agent, retry_lost=True)
    assert len(resumed.planned) == 1
    (again,) = resumed.attempts()

    assert again.retry_of == 1
    assert again.failure_reason is FailureReason.TESTS_FAILED
    assert len(resume_run(run.store.folder, agent=agent, retry_lost=True).planned) == 0


def test_the_oracle_is_refused_for_a_task_without_a_solution(task):
    check_solutions("oracle", [task])
    unsolved = task.replace(answer_key=task.answer_key.replace(solution_patch=b""))
    with pytest.raises(InputError, match=r"has no solution\.patch, which --agent oracle applies"):
        check_solutions("oracle", [unsolved])
    check_solutions("oracle", [task, unsolved])
    check_solutions("noop", [unsolved])
