import re

import pytest

from agentbench.attempt.executor_name import ExecutorName
from agentbench.core.extras import install_command
from agentbench.errors import UsageError
from agentbench.runs.executors.local import slots_elsewhere


def test_missing_extra_is_one_clear_line(monkeypatch):
    monkeypatch.setattr("agentbench.core.extras.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=re.escape(install_command("ray"))):
        slots_elsewhere(ExecutorName.RAY)
