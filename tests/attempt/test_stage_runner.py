from datetime import timedelta

from agentbench.attempt.settings import RunSettings, attempt_time_limit, stage_timeout
from agentbench.taxonomy import StageName
from tests.fakes.staging import small_task


def test_every_stage_has_a_time_limit_that_scales(tmp_path):
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


def test_an_attempt_as_a_whole_may_take_longer_than_its_stages_unless_it_is_said(tmp_path):
    task = small_task(tmp_path / "small")
    settings = RunSettings()
    limits = [stage_timeout(stage, task, settings) for stage in StageName]
    assert attempt_time_limit(task, settings) > sum(limits, timedelta(0))
    told = RunSettings(attempt_timeout=timedelta(seconds=3))
    assert attempt_time_limit(task, told) == timedelta(seconds=3)
