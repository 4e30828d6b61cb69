"""Where code that is handed in runs: a place of its own each time, and a small one."""

from threading import Event

import pytest

from agentbench.errors import RunCancelled, UnavailableError
from agentbench.extensions.symbolic.sandbox import (
    ANALYSIS_LIMITS,
    SUBMITTED_MODULE,
    AnalysisSandboxes,
)
from agentbench.sandbox.interface import SandboxProvider
from tests.sandbox.conformance_base import sh


def test_each_bench_has_the_code_and_is_fresh(analysis_sandboxes):
    with analysis_sandboxes.opened("x = 'é'\n", cancel=Event()) as opened:
        assert sh(opened.sandbox, f"cat {SUBMITTED_MODULE}.py; touch left").stdout == "x = 'é'\n"
        assert opened.path.endswith(f"/{SUBMITTED_MODULE}.py")
    with analysis_sandboxes.opened("y = 2\n", cancel=Event()) as opened:
        assert sh(opened.sandbox, "ls").stdout == f"{SUBMITTED_MODULE}.py\n"


def test_sandbox_has_no_network_and_limited_disk(analysis_sandboxes):
    with analysis_sandboxes.opened("", cancel=Event()) as opened:
        links = sh(opened.sandbox, "cat /proc/net/dev").stdout.splitlines()[2:]
        written = sh(
            opened.sandbox, f"head -c {(ANALYSIS_LIMITS.disk_mib + 8) << 20} /dev/zero > big"
        )
    assert {line.split(":")[0].strip() for line in links} <= {"lo"}
    assert not written.ok


def test_cancelled_sandbox_run_ends(analysis_sandboxes):
    cancel = Event()
    with analysis_sandboxes.opened("", cancel=cancel) as opened:
        cancel.set()
        with pytest.raises(RunCancelled):
            opened.run("analysis", "{}", seconds=60)


def test_engine_is_connected_once_at_first_use(cache_dir, provider):
    asked = []

    def connect() -> SandboxProvider:
        asked.append(1)
        return provider

    analysis_sandboxes = AnalysisSandboxes(connect, cache_dir)
    assert not asked
    assert analysis_sandboxes.provider() is analysis_sandboxes.provider() is provider
    assert len(asked) == 1


def test_missing_sandbox_is_reported_each_time(cache_dir):
    def refuse() -> SandboxProvider:
        raise UnavailableError("no sandbox works here")

    analysis_sandboxes = AnalysisSandboxes(refuse, cache_dir)
    for _ in range(2):
        with (
            pytest.raises(UnavailableError, match="no sandbox works here"),
            analysis_sandboxes.opened("", cancel=Event()),
        ):
            pass
