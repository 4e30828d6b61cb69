from datetime import timedelta

from agentbench.sandbox.interface import Limits
from tests.fakes.staging import small_task, staged


def test_context_has_the_limits_of_the_task(provider, desk, tmp_path):
    environment = "cpus = 0.5\nmemory_mib = 300\npids = 50\ndisk_mib = 400\nfiles = 7000"
    task = small_task(tmp_path / "small", environment=environment)
    with staged(task, provider, desk, timeout_scale=1.5) as context:
        assert context.inputs.limits == Limits(
            cpus=0.5, memory_mib=300, pids=50, disk_mib=400, files=7000
        )
        assert context.settings.scaled(10) == timedelta(seconds=15)
