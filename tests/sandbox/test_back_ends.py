from agentbench.sandbox.back_ends import BACK_ENDS_BY_NAME, SandboxName


def test_each_back_end_has_a_name_for_the_command_line():
    assert list(SandboxName) == [SandboxName.AUTO, *BACK_ENDS_BY_NAME]
