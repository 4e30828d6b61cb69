import subprocess
import sys


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
