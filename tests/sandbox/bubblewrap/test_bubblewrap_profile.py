from contextlib import ExitStack
from pathlib import Path, PurePosixPath

import pytest

from agentbench.sandbox.bubblewrap.profile import (
    BindMount,
    OverlayMount,
    ReachablePaths,
    ReadOnlyOverlay,
    bind_arguments,
    command_arguments,
    limited_argv,
    python_binds,
    start_argv,
    system_arguments,
    system_binds,
)
from agentbench.sandbox.host_environment import host_python


def test_the_walls_are_all_there() -> None:
    arguments = system_arguments(network=False)
    for wall in ("--unshare-all", "--disable-userns", "--new-session", "--clearenv"):
        assert wall in arguments
    assert arguments[arguments.index("--cap-drop") + 1] == "ALL"
    assert "--share-net" not in arguments
    assert PurePosixPath("/etc/resolv.conf") not in {
        bind.target for bind in system_binds(network=False)
    }


def test_a_network_is_shared_when_asked_for() -> None:
    assert "--share-net" in system_arguments(network=True)


def test_nothing_of_the_machine_is_bound_writable() -> None:
    arguments = system_arguments(network=True)
    assert not {"--bind", "--dev-bind", "--bind-try"} & set(arguments)
    binds = [*system_binds(network=True)]
    assert not any(bind.writable or bind.target == PurePosixPath("/") for bind in binds)


def test_a_python_below_usr_needs_no_bind_of_its_own() -> None:
    for bind in python_binds(host_python()):
        assert not bind.target.is_relative_to("/usr")


def test_binds_and_overlays_become_options() -> None:
    target = PurePosixPath("/t")
    binds = [
        BindMount(source=Path("/a"), target=target),
        BindMount(source=Path("/b"), target=target, writable=True),
        OverlayMount(lower=Path("/l"), upper=Path("/r/up"), work=Path("/r/work"), target=target),
        ReadOnlyOverlay(lower=Path("/l"), empty=Path("/e"), target=target),
    ]
    with ExitStack() as keep:
        words = bind_arguments(binds, ReachablePaths(None, keep))
    assert " ".join(words) == (
        "--ro-bind /a /t --bind /b /t --overlay-src /l --overlay /r/up /r/work /t "
        "--overlay-src /e --overlay-src /l --ro-overlay /t"
    )


def test_the_environment_travels_by_descriptor_whatever_it_holds() -> None:
    words = command_arguments({"A": "x y\n", "B": ""}, PurePosixPath("/w"))
    assert words == b"--chdir\0/w\0--setenv\0A\0x y\n\0--setenv\0B\0\0"


@pytest.mark.parametrize("argv", [("true",), ("a=b", "c")])
def test_a_program_is_started_by_one_that_tells_missing_from_locked(argv: tuple[str, ...]) -> None:
    assert start_argv(argv)[-len(argv) :] == argv
    assert Path(start_argv(argv)[0]).exists()


def test_limits_of_files_are_set_by_a_program_from_within() -> None:
    words = limited_argv(("true",), file_bytes=9, open_files=7)
    assert words[-1] == "true"
    if len(words) > 1:  # where prlimit is installed
        assert words[1:4] == ("--core=0:0", "--fsize=9:9", "--nofile=7:7")


def test_every_file_system_in_memory_is_of_a_bounded_size() -> None:
    arguments = system_arguments(network=False)
    made = [n for n, word in enumerate(arguments) if word == "--tmpfs"]
    assert {arguments[n + 1] for n in made} == {"/dev/shm", "/run"}
    assert {arguments[n - 2] for n in made} == {"--size"}
