"""Who made a thing, and whether they still live."""

import subprocess
import sys

import pytest
from msgspec.structs import replace

from agentbench.sandbox.ownership import ProcessOwner, labels_of, without_owner


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
