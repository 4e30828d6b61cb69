"""The six stages."""

from agentbench.scoring.taxonomy import StageName


def test_the_stages_are_six_in_the_order_they_run():
    assert [stage.value for stage in StageName] == [
        "git_clone",
        "git_checkout",
        "setup",
        "baseline_run",
        "agent_run",
        "final_test",
    ]


def test_a_stage_is_written_as_its_name():
    assert f"{StageName.AGENT_RUN}" == "agent_run"
    assert StageName("final_test") is StageName.FINAL_TEST
