import re
import subprocess
import sys

import pytest

from agentbench.attempt.executor_name import ExecutorName
from agentbench.core.extras import install_command
from agentbench.errors import UsageError
from agentbench.runs.executors.local import slots_elsewhere


def test_this_machine_has_none_elsewhere_and_ray_is_not_imported():
    program = (
        "import sys\n"
        "from agentbench.attempt.executor_name import ExecutorName\n"
        "from agentbench.runs.executors.local import slots_elsewhere\n"
        "import agentbench.runs.run\n"
        "print(slots_elsewhere(ExecutorName.LOCAL), 'ray' in sys.modules)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert said.stdout.split() == [b"None", b"False"]


def test_a_missing_extra_is_one_clear_line(monkeypatch):
    monkeypatch.setattr("agentbench.core.extras.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=re.escape(install_command("ray"))):
        slots_elsewhere(ExecutorName.RAY)
