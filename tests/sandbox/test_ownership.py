"""Who made a thing, and whether they still live."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agentbench.sandbox.ownership import (
    ProcessOwner,
    group_name,
    is_group_owner_alive,
    labels_of,
    without_owner,
)


def test_labels_tell_their_owner() -> None:
    owner = ProcessOwner.current()
    assert ProcessOwner.from_labels(labels_of("sandbox", owner)) == owner


def test_this_process_is_alive() -> None:
    assert ProcessOwner.current().alive


def test_a_process_that_ended_is_dead() -> None:
    script = (
        "from agentbench.sandbox.ownership import ProcessOwner; print(ProcessOwner.current().pid)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert not replace(ProcessOwner.current(), pid=int(done.stdout), started="1").alive


def test_another_process_with_the_same_number_is_not_the_owner() -> None:
    assert not replace(ProcessOwner.current(), started="1").alive


def test_before_a_reboot_nobody_lives_now() -> None:
    assert not replace(ProcessOwner.current(), boot="another-boot/1").alive


@pytest.mark.parametrize("elsewhere", ["machine", "namespace"])
def test_an_owner_that_cannot_be_seen_counts_as_alive(elsewhere: str) -> None:
    owner = replace(ProcessOwner.current(), started="1")
    if elsewhere == "machine":
        owner = replace(owner, machine="another", boot="another-boot/1")
    else:
        owner = replace(owner, boot=owner.boot.partition("/")[0] + "/another")
    assert owner.alive


@pytest.mark.parametrize("labels", [{}, labels_of("snapshot"), without_owner()])
def test_things_without_an_owner_name_none(labels: dict[str, str]) -> None:
    assert ProcessOwner.from_labels(labels) is None


NAME = "from agentbench.sandbox.ownership import group_name; print(group_name('x'), flush=True); "
NAME += "import sys; sys.stdin.read()"


def folder(name: str) -> Path:
    return Path("/sys/fs/cgroup") / f"agentbench-{name}"


def test_our_own_group_is_used() -> None:
    assert group_name("box").startswith(f"{os.getpid()}-")
    assert is_group_owner_alive(folder(group_name("box-with-dashes")))


def test_a_group_is_used_until_its_maker_is_dead() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        (sys.executable, "-c", NAME), stdin=pipe, stdout=pipe, text=True
    ) as other:
        assert other.stdout is not None
        group = folder(other.stdout.readline().strip())
        assert is_group_owner_alive(group)
        other.kill()
    assert not is_group_owner_alive(group)


def test_a_number_that_another_process_has_got_by_now_is_told() -> None:
    pid, started, rest = group_name("x").split("-", 2)
    assert not is_group_owner_alive(folder(f"{pid}-{int(started) - 1}-{rest}"))


def test_who_counts_processes_anew_counts_as_alive() -> None:
    _, started, namespace, rest = group_name("x").split("-", 3)
    assert is_group_owner_alive(folder(f"{2**22}-{started}-{int(namespace) - 1}-{rest}"))
    assert not is_group_owner_alive(folder(f"{2**22}-{started}-{namespace}-{rest}"))


@pytest.mark.parametrize("name", ["", "x", "x-y", f"{2**22}-box"])
def test_a_name_of_another_kind_is_nobodys(name: str) -> None:
    assert not is_group_owner_alive(folder(name))


def test_another_boot_has_none_of_our_groups() -> None:
    here = ProcessOwner.current()
    before = ProcessOwner(
        machine=here.machine, boot=f"0/{here.boot}", pid=here.pid, started=here.started
    )
    assert not before.alive
