"""Moving trees in and out as plain tar streams."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.interface import Sandbox
from tests.sandbox.conformance_base import Conformance, python, sh

FOLDER = 0o40000
LINK = 0o120000


def tar_of(entries: Mapping[str, tuple[int, bytes]]) -> bytes:
    """A plain tar of files, folders (`FOLDER | mode`) and links (`LINK`), owned by root."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, (mode, content) in entries.items():
            info = tarfile.TarInfo(name)
            info.mode = mode & 0o7777
            if mode & LINK == LINK:
                info.type, info.linkname = tarfile.SYMTYPE, content.decode()
            elif mode & FOLDER:
                info.type = tarfile.DIRTYPE
            else:
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def tree_of(sandbox: Sandbox, path: PurePosixPath) -> dict[str, tuple[int, bytes]]:
    """What `read_tree` brings, in the terms of `tar_of`, without the folder itself."""
    with sandbox.read_tree(path) as stream:
        data = b"".join(stream)
    found: dict[str, tuple[int, bytes]] = {}
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
        for info in tar:
            name = PurePosixPath(info.name).as_posix()
            if name == ".":
                continue
            if info.issym():
                found[name] = (LINK, info.linkname.encode())
            elif info.isdir():
                found[name] = (FOLDER | info.mode & 0o7777, b"")
            elif info.isreg():
                file = tar.extractfile(info)
                assert file is not None
                found[name] = (info.mode & 0o7777, file.read())  # an engine adds the type
            else:
                found[name] = (-1, info.type)
    return found


class TreeConformance(Conformance):
    """`read_tree` and `write_tree`."""

    def test_tree_is_read_as_written(self, fresh: Sandbox) -> None:
        long = "n" * 200
        given = {
            "plain.txt": (0o644, b"text\n"),
            "tool.sh": (0o755, b"#!/bin/sh\necho hi\n"),
            "empty": (FOLDER | 0o755, b""),
            "private": (FOLDER | 0o700, b""),
            "private/key": (0o600, b"\x00\xff" * 1000),
            "link": (LINK, b"plain.txt"),
            "dangling": (LINK, b"/no/such/thing"),
            "nothing": (0o644, b""),
            "süße größe\nzwei": (0o644, "ü".encode()),
            long: (FOLDER | 0o755, b""),
            f"{long}/{long}": (0o644, b"far down"),
        }
        fresh.write_tree(fresh.workspace, tar_of(given))
        assert tree_of(fresh, fresh.workspace) == given
        assert sh(fresh, "./tool.sh").stdout == "hi\n"
        assert sh(fresh, "rm -r private plain.txt && echo > plain.txt").ok, "they are its own"

    def test_two_thousand_files_make_the_round_trip(self, fresh: Sandbox) -> None:
        given = {f"d{n % 20}/f{n}": (0o644, f"{n}".encode()) for n in range(2000)}
        fresh.write_tree(fresh.workspace, tar_of(given))
        found = tree_of(fresh, fresh.workspace)
        assert {name: entry for name, entry in found.items() if not entry[0] & FOLDER} == given

    def test_write_replaces_only_its_own_files(self, fresh: Sandbox) -> None:
        sh(fresh, "mkdir d && echo old > d/a && chmod 444 d/a && echo kept > d/b")
        fresh.write_tree(fresh.workspace, tar_of({"d/a": (0o644, b"new"), "d/c": (0o644, b"c")}))
        assert sh(fresh, "cat d/a d/b d/c").stdout == "newkept\nc"

    def test_missing_folder_is_created(self, fresh: Sandbox) -> None:
        deep = fresh.workspace / "a" / "b"
        fresh.write_tree(deep, tar_of({"f": (0o644, b"x")}))
        assert sh(fresh, f"cat {deep}/f && touch {deep}/g").stdout == "x"

    def test_names_are_relative_to_the_requested_path(self, fresh: Sandbox) -> None:
        sh(fresh, "mkdir -p a/b/c && echo 1 > a/b/c/f && touch a/out")
        assert set(tree_of(fresh, fresh.workspace / "a" / "b")) == {"c", "c/f"}

    def test_results_are_read_too(self, fresh: Sandbox) -> None:
        sh(fresh, f"echo 1 > {fresh.results}/report")
        assert tree_of(fresh, fresh.results)["report"][1] == b"1\n"

    def test_a_tree_can_be_read_after_a_kill(self, fresh: Sandbox) -> None:
        sh(fresh, "echo left > file")
        fresh.kill()
        assert tree_of(fresh, fresh.workspace)["file"][1] == b"left\n"

    def test_a_tree_that_does_not_exist_cannot_be_read(self, fresh: Sandbox) -> None:
        with (
            pytest.raises(SandboxError),
            fresh.read_tree(fresh.workspace / "no" / "such") as stream,
        ):
            list(stream)

    def test_unreadable_folder_is_read(self, fresh: Sandbox) -> None:
        sh(fresh, "mkdir d && echo 1 > d/f && chmod 000 d/f d")
        assert tree_of(fresh, fresh.workspace)["d/f"] == (0, b"1\n")

    def test_links_pipes_and_sockets_are_not_followed(self, fresh: Sandbox) -> None:
        sh(fresh, "ln -s /etc/passwd link; mkfifo pipe; ln -s / root")
        python(fresh, "import socket; socket.socket(socket.AF_UNIX).bind('socket')")
        found = tree_of(fresh, fresh.workspace)
        assert found["link"] == (LINK, b"/etc/passwd")
        assert found["root"] == (LINK, b"/")
        assert found["pipe"] == (-1, tarfile.FIFOTYPE)
        assert set(found) <= {"link", "pipe", "root", "socket"}

    def test_read_follows_no_link_to_the_host(self, fresh: Sandbox, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text("of the host")
        sh(fresh, f"ln -s {tmp_path} out")
        try:
            found = tree_of(fresh, fresh.workspace / "out")
        except SandboxError:
            found = {}
        assert all(content != b"of the host" for _mode, content in found.values())

    def test_write_follows_no_link_to_the_host(self, fresh: Sandbox, tmp_path: Path) -> None:
        tmp_path.chmod(0o755)
        (tmp_path / "file").write_text("safe")
        sh(fresh, f"ln -s {tmp_path} out; ln -s {tmp_path}/file direct")
        entries = {"out/file": (0o644, b"hit"), "direct": (0o644, b"hit")}
        for name, entry in entries.items():
            try:
                fresh.write_tree(fresh.workspace, tar_of({name: entry}))
            except SandboxError:
                continue
        assert (tmp_path / "file").read_text() == "safe"
