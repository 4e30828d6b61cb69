import subprocess
import sys

import pytest

from agentbench.agents.reference import NoopAgent
from agentbench.errors import OutageError
from agentbench.runs.executors.local import LocalAttempts, LocalExecutor
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.store.store import RunStore
from tests.patience import HANG_SECONDS
from tests.runs.executors.conformance import ExecutorConformance
from tests.runs.records import RUN, configuration


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


@pytest.fixture
def store(tmp_path):
    return RunStore.create(tmp_path, configuration())


class TestLocalExecutor(ExecutorConformance):
    @pytest.fixture
    def executor(self, workshop, store):
        tries = LocalAttempts(run_id=RUN, agent=NoopAgent(), resources=workshop(), store=store)
        return LocalExecutor(tries.make, jobs=2)


def test_what_a_try_raises_is_raised_where_its_end_is_awaited(task):
    def away(_planned):
        raise OutageError("the engine is away")

    with LocalExecutor(away, jobs=1) as executor:
        executor.start(PlannedAttempt(task=task, attempt=1))
        with pytest.raises(OutageError, match="the engine is away"):
            executor.ended(within=HANG_SECONDS)
