"""Where handed-in code runs: a real sandbox, and plain processes only for who names them."""

import pytest

from agentbench.cli.serve.mcp import code_runner_for
from agentbench.errors import UsageError


def test_by_itself_it_takes_a_real_sandbox_and_never_plain_processes():
    assert code_runner_for("auto").provider().name in ("bubblewrap", "docker")


def test_plain_processes_are_taken_by_who_names_them():
    assert code_runner_for("process").provider().name == "process"


def test_a_sandbox_that_there_is_none_of_is_refused():
    with pytest.raises(UsageError, match="unknown sandbox 'podmen'"):
        code_runner_for("podmen").provider()
