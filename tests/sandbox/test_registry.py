from pathlib import Path

import pytest

from agentbench.errors import UnavailableError, UsageError
from agentbench.sandbox.back_ends import BACK_ENDS_BY_NAME, BackEnd
from agentbench.sandbox.interface import Promise, SandboxProvider
from agentbench.sandbox.process.provider import ProcessProvider
from agentbench.sandbox.registry import BackEndProbe, probe_back_ends, select_back_end

pytestmark = pytest.mark.full

PROCESS = BACK_ENDS_BY_NAME["process"]


def refusing(name: str, message: str) -> BackEnd:
    def connect(_cache_dir: Path) -> SandboxProvider:
        raise UnavailableError(message)

    return BackEnd(name=name, connect=connect, start_ms=1)


def test_auto_selects_the_first_working_back_end(tmp_path: Path) -> None:
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


def test_gaps_of_a_back_end_are_one_warning(tmp_path: Path) -> None:
    gaps = (Promise.MEMORY_LIMIT, Promise.CPU_LIMIT)

    class Partial(ProcessProvider):
        promises = frozenset(Promise).difference(gaps)

    partial = Partial.connect(cache_dir=tmp_path)
    back_ends = (BackEnd(name="process", connect=lambda _cache_dir: partial, start_ms=1),)
    chosen = select_back_end("process", cache_dir=tmp_path, back_ends=back_ends)
    assert chosen.warnings == (f"process does not promise: {', '.join(gaps)}",)


def test_auto_without_a_working_back_end_lists_all_refusals(tmp_path: Path) -> None:
    back_ends = (refusing("docker", "no engine"), refusing("process", "no Python"))
    with pytest.raises(UnavailableError, match=r"docker: no engine\nprocess: no Python"):
        select_back_end("auto", cache_dir=tmp_path, back_ends=back_ends)


def test_named_back_end_is_not_replaced(tmp_path: Path) -> None:
    back_ends = (refusing("docker", "start the engine"), PROCESS)
    with pytest.raises(UnavailableError, match="start the engine"):
        select_back_end("docker", cache_dir=tmp_path, back_ends=back_ends)


def test_own_back_end_of_a_program_is_taken(tmp_path: Path) -> None:
    provider = PROCESS.connect(tmp_path)
    assert select_back_end(provider, cache_dir=tmp_path).provider is provider


def test_unknown_back_end_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"podman.*docker, bubblewrap, process"):
        select_back_end("podman", cache_dir=tmp_path)


def test_probe_has_missing_promises_or_a_remedy(tmp_path: Path) -> None:
    back_ends = (refusing("docker", "start the engine"), PROCESS)
    absent, present = probe_back_ends(cache_dir=tmp_path, back_ends=back_ends)
    assert absent == BackEndProbe(name="docker", available=False, detail="start the engine")
    assert present.available
    assert set(present.missing) == set(Promise)
    assert "kernel" in present.detail
