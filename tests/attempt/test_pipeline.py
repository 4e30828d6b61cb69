from datetime import timedelta

from agentbench.attempt.pipeline import PIPELINE, PREPARATION
from agentbench.scoring.taxonomy import StageName
from tests.fakes.staging import small_task, staged


def test_the_six_stages_come_in_their_order():
    assert [stage.name for stage in PIPELINE] == list(StageName)


def test_what_is_prepared_comes_first():
    names = [stage.name for stage in PIPELINE]
    assert set(names[: len(PREPARATION)]) == PREPARATION


def test_every_stage_has_a_time_limit_that_scales(provider, desk, tmp_path):
    task = small_task(
        tmp_path / "small", setup="timeout_s = 5", test_timeout_s=7, agent="timeout_s = 9"
    )
    with staged(task, provider, desk, timeout_scale=2.0) as context:
        limits = {stage.name: stage.timeout(context) for stage in PIPELINE}
    assert limits[StageName.SETUP] == timedelta(seconds=10)
    assert limits[StageName.BASELINE_RUN] == limits[StageName.FINAL_TEST] == timedelta(seconds=14)
    assert limits[StageName.AGENT_RUN] == timedelta(seconds=18)
    assert limits[StageName.GIT_CLONE] == timedelta(hours=1)
