from agentbench.attempt.executor_name import ExecutorName


def test_attempts_are_made_here_or_on_a_cluster():
    assert [name.value for name in ExecutorName] == ["local", "ray"]
