from agentbench.scoring.statistics import TaskScore


def test_a_share_is_of_the_task_s_own_attempts():
    assert TaskScore(3, 4).share == 0.75
    assert TaskScore(0, 1).share == 0.0
