"""What is read out of an engine's answers about itself."""

import pytest

from agentbench.sandbox.docker.engine import EngineProduct, read_facts
from agentbench.sandbox.interface import Promise

INFO = {
    "ServerVersion": "20.10.24",
    "OperatingSystem": "Debian GNU/Linux 12",
    "CgroupVersion": "2",
    "NCPU": 4,
    "MemoryLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
    "SecurityOptions": ["name=apparmor", "name=seccomp,profile=default"],
}
DOCKER = {"ApiVersion": "1.41", "Components": [{"Name": "Engine"}, {"Name": "containerd"}]}
PODMAN = {"ApiVersion": "1.41", "Components": [{"Name": "Podman Engine"}]}


def test_an_engine_on_a_whole_kernel_promises_all() -> None:
    facts = read_facts(INFO, DOCKER)
    assert facts.promises == frozenset(Promise)
    assert (facts.product, facts.version, facts.cpus) == (EngineProduct.DOCKER, "20.10.24", 4)
    assert facts.isolation == (
        "container, no capabilities except for root, no new privileges, seccomp, users not remapped"
    )
    assert facts.user_processes is None


@pytest.mark.parametrize(
    ("lacks", "gaps"),
    [
        ({"MemoryLimit": False}, {Promise.MEMORY_LIMIT, Promise.TELLS_OOM}),
        ({"PidsLimit": None}, {Promise.PIDS_LIMIT}),
        ({"CpuCfsQuota": False}, {Promise.CPU_LIMIT}),
        ({"SecurityOptions": None}, {Promise.UNPRIVILEGED}),
    ],
)
def test_what_a_kernel_lacks_is_not_promised(lacks: dict[str, object], gaps: set[Promise]) -> None:
    assert read_facts({**INFO, **lacks}, DOCKER).promises == frozenset(Promise) - gaps


def test_podman_is_known_by_its_component_and_leaves_user_namespaces_open() -> None:
    facts = read_facts(INFO, PODMAN)
    assert facts.product is EngineProduct.PODMAN
    assert facts.promises == frozenset(Promise) - {Promise.UNPRIVILEGED}
    assert "user namespaces" in facts.isolation
    assert facts.user_processes


def test_what_is_not_said_is_unknown() -> None:
    facts = read_facts({}, {})
    assert (facts.version, facts.storage_driver, facts.cgroup_version) == (
        "unknown",
        "unknown",
        "1",
    )
    assert facts.cpus == 1
    assert "no seccomp" in facts.isolation
