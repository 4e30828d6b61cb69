from collections.abc import Callable
from pathlib import Path

import pytest

from agentbench.errors import UnavailableError, UsageError
from agentbench.sandbox.interface import Promise, SandboxProvider
from agentbench.sandbox.process.provider import ProcessProvider
from agentbench.sandbox.registry import BACK_ENDS, BackEndProbe, probe_back_ends, select_back_end


def process(cache_dir: Path) -> SandboxProvider:
    return ProcessProvider.connect(cache_dir=cache_dir)


def refusing(message: str) -> Callable[[Path], SandboxProvider]:
    def connect(_cache_dir: Path) -> SandboxProvider:
        raise UnavailableError(message)

    return connect


def test_auto_takes_the_first_that_works_and_says_why_not_the_others(tmp_path: Path) -> None:
    connectors = {
        "docker": refusing("no engine answers\nstart one"),
        "bubblewrap": refusing("user namespaces are off"),
        "process": process,
    }
    chosen = select_back_end("auto", cache_dir=tmp_path, connectors=connectors)
    assert chosen.provider.name == "process"
    assert chosen.reason == (
        "docker: no engine answers; bubblewrap: user namespaces are off; process works"
    )
    assert "no sandbox" in chosen.warnings[0]


def test_auto_with_nothing_that_works_lists_every_refusal(tmp_path: Path) -> None:
    connectors = {"docker": refusing("no engine"), "process": refusing("no Python")}
    with pytest.raises(UnavailableError, match=r"docker: no engine\nprocess: no Python"):
        select_back_end("auto", cache_dir=tmp_path, connectors=connectors)


def test_a_named_one_that_does_not_work_is_not_replaced(tmp_path: Path) -> None:
    connectors = {"docker": refusing("start the engine"), "process": process}
    with pytest.raises(UnavailableError, match="start the engine"):
        select_back_end("docker", cache_dir=tmp_path, connectors=connectors)


def test_an_unknown_name_is_a_mistake_of_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"podman.*docker, bubblewrap, process"):
        select_back_end("podman", cache_dir=tmp_path)


def test_a_probe_tells_what_is_missing_or_what_to_do(tmp_path: Path) -> None:
    connectors = {"docker": refusing("start the engine"), "process": process}
    absent, present = probe_back_ends(cache_dir=tmp_path, connectors=connectors)
    assert absent == BackEndProbe(name="docker", available=False, detail="start the engine")
    assert present.available
    assert set(present.missing) == set(Promise)
    assert "kernel" in present.detail


def test_every_back_end_is_probed(tmp_path: Path) -> None:
    assert tuple(probe.name for probe in probe_back_ends(cache_dir=tmp_path)) == BACK_ENDS
