from pathlib import Path

import pytest

from agentbench.errors import UnavailableError, UsageError
from agentbench.sandbox.interface import Promise, SandboxProvider
from agentbench.sandbox.registry import (
    BACK_ENDS_BY_NAME,
    BackEnd,
    BackEndProbe,
    probe_back_ends,
    select_back_end,
)

PROCESS = BACK_ENDS_BY_NAME["process"]


def refusing(name: str, message: str) -> BackEnd:
    def connect(_cache_dir: Path) -> SandboxProvider:
        raise UnavailableError(message)

    return BackEnd(name=name, connect=connect, start_ms=1)


def test_auto_takes_the_first_that_works_and_says_why_not_the_others(tmp_path: Path) -> None:
    back_ends = (
        refusing("docker", "no engine answers\nstart one"),
        refusing("bubblewrap", "user namespaces are off"),
        PROCESS,
    )
    chosen = select_back_end("auto", cache_dir=tmp_path, back_ends=back_ends)
    assert chosen.provider.name == "process"
    assert chosen.reason == (
        "docker: no engine answers; bubblewrap: user namespaces are off; process works"
    )
    assert "process is not a sandbox" in chosen.warnings[0]


def test_auto_with_nothing_that_works_lists_every_refusal(tmp_path: Path) -> None:
    back_ends = (refusing("docker", "no engine"), refusing("process", "no Python"))
    with pytest.raises(UnavailableError, match=r"docker: no engine\nprocess: no Python"):
        select_back_end("auto", cache_dir=tmp_path, back_ends=back_ends)


def test_a_named_one_that_does_not_work_is_not_replaced(tmp_path: Path) -> None:
    back_ends = (refusing("docker", "start the engine"), PROCESS)
    with pytest.raises(UnavailableError, match="start the engine"):
        select_back_end("docker", cache_dir=tmp_path, back_ends=back_ends)


def test_an_unknown_name_is_a_mistake_of_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"podman.*docker, bubblewrap, process"):
        select_back_end("podman", cache_dir=tmp_path)


def test_a_probe_tells_what_is_missing_or_what_to_do(tmp_path: Path) -> None:
    back_ends = (refusing("docker", "start the engine"), PROCESS)
    absent, present = probe_back_ends(cache_dir=tmp_path, back_ends=back_ends)
    assert absent == BackEndProbe(name="docker", available=False, detail="start the engine")
    assert present.available
    assert set(present.missing) == set(Promise)
    assert "kernel" in present.detail


def test_every_back_end_is_probed(tmp_path: Path) -> None:
    probes = probe_back_ends(cache_dir=tmp_path)
    assert [probe.name for probe in probes] == list(BACK_ENDS_BY_NAME)
