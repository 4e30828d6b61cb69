from threading import Event

from agentbench.mcp.symbolic_tools import HealthArguments
from tests.mcp.symbolic_bench import symbolic, without_sandbox


def test_what_is_missing_is_named_and_the_server_is_healthy_all_the_same(tmp_path):
    told = HealthArguments().run(without_sandbox(tmp_path, installed=False), Event())
    assert told.status == "healthy"
    assert told.sandbox is None
    assert told.missing == ("a sandbox (no sandbox works here: bwrap at <host> says no)",)
    assert (told.version, told.tools) == ("1.2.3", ("health_check",))


def test_versions_are_those_that_are_installed(analysis_sandboxes):
    told = HealthArguments().run(symbolic(analysis_sandboxes), Event())
    assert (told.message, told.sandbox) == ("nothing is missing", "bubblewrap")
    for version in (told.crosshair_version, told.hypothesis_version, told.z3_version):
        assert version[0].isdigit()
