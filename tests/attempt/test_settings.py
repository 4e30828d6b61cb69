import json
from datetime import timedelta
from pathlib import Path

from agentbench.attempt.settings import RunSettings, attempt_time_limit, stage_timeout
from agentbench.runs.options import RunOptions
from agentbench.tasks.control_level import ControlLevel
from agentbench.taxonomy import StageName
from tests.fakes.staging import small_task
from tests.runs.records import configuration

CHANGED = {
    "timeout_scale": 2.0,
    "max_outage": timedelta(minutes=3),
    "attempt_timeout": timedelta(hours=1),
    "agent_timeout": timedelta(minutes=5),
    "integrity_controls": ControlLevel.OFF,
    "prices": Path("/prices.json"),
}


def test_settings_json_has_seconds():
    document = json.loads(RunSettings(**CHANGED).model_dump_json())
    assert (document["max_outage_s"], document["attempt_timeout_s"]) == (180.0, 3600.0)
    assert document["prices"] == "/prices.json"
    assert document.keys() <= json.loads(configuration().model_dump_json()).keys()
    assert RunSettings.model_validate(document) == RunSettings(**CHANGED)


def test_options_and_configuration_agree():
    options = RunOptions(agent="noop", **CHANGED)
    assert type(options.settings()) is RunSettings
    assert options.settings() == configuration(**CHANGED).settings() == RunSettings(**CHANGED)


def test_stage_time_limits_are_scaled(tmp_path):
    task = small_task(
        tmp_path / "small", setup="timeout_s = 5", test_timeout_s=7, agent="timeout_s = 9"
    )
    settings = RunSettings(timeout_scale=2.0)
    limits = {stage: stage_timeout(stage, task, settings) for stage in StageName}
    assert limits[StageName.SETUP] == timedelta(seconds=10)
    assert limits[StageName.BASELINE_RUN] == limits[StageName.FINAL_TEST] == timedelta(seconds=14)
    assert limits[StageName.AGENT_RUN] == timedelta(seconds=18)
    assert limits[StageName.GIT_CLONE] == timedelta(hours=1)
    assert limits[StageName.GIT_CHECKOUT] == timedelta(minutes=20)


def test_agent_timeout_replaces_the_tasks_own_and_is_not_scaled(tmp_path):
    task = small_task(tmp_path / "small", agent="timeout_s = 9")
    settings = RunSettings(agent_timeout=timedelta(seconds=3), timeout_scale=2.0)
    assert stage_timeout(StageName.AGENT_RUN, task, settings) == timedelta(seconds=3)
    assert stage_timeout(StageName.SETUP, task, settings) == settings.scaled(task.setup.timeout_s)


def test_attempt_limit_exceeds_those_of_its_stages(tmp_path):
    task = small_task(tmp_path / "small")
    settings = RunSettings()
    limits = [stage_timeout(stage, task, settings) for stage in StageName]
    assert attempt_time_limit(task, settings) > sum(limits, timedelta(0))
    told = RunSettings(attempt_timeout=timedelta(seconds=3))
    assert attempt_time_limit(task, told) == timedelta(seconds=3)
