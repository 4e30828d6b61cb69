"""Remembering a state: what comes back, for whom, and until when."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

import pytest

from agentbench.errors import SandboxError
from agentbench.integrity.trees import EntryKind, read_tree
from agentbench.sandbox.archives import tar_of_file
from agentbench.sandbox.interface import ImageId, Sandbox, SandboxProvider, SandboxUse
from tests.sandbox.conformance_base import LIMITS, Conformance, python, sh

INSTALL = """
import os, pathlib, sys, sysconfig
source = pathlib.Path("src/things")
source.mkdir(parents=True)
(source / "__init__.py").write_text("def main(): print('answer 42')\\n")
purelib = pathlib.Path(sysconfig.get_path("purelib"))
(purelib / "_things.pth").write_text(os.fspath(source.parent.absolute()) + "\\n")
script = pathlib.Path(sys.prefix, "bin", "things")
script.write_text(f"#!{sys.executable}\\nfrom things import main\\nmain()\\n")
script.chmod(0o755)
"""
KEY = f"conformance-{uuid.uuid4().hex[:8]}"  # other workers' suites share the engine


class SnapshotConformance(Conformance):
    """`snapshot`, `find`, `open` and `discard` together."""

    @pytest.fixture
    def key(self, provider: SandboxProvider) -> Iterator[str]:
        yield KEY
        if (snapshot := provider.find(KEY)) is not None:
            provider.discard(snapshot)

    def test_an_unknown_key_finds_nothing(self, provider: SandboxProvider) -> None:
        assert provider.find("never-made") is None

    def test_an_installed_environment_and_the_workspace_come_back(
        self,
        provider: SandboxProvider,
        image: ImageId,
        reconnect: Callable[[], SandboxProvider],
        key: str,
    ) -> None:
        with provider.open(image, limits=LIMITS, network=False) as sandbox:
            assert python(sandbox, INSTALL).ok
            sh(sandbox, f"chmod 700 src; ln -s src link; mkdir empty; touch {sandbox.results}/old")
            created = sandbox.snapshot(key)
        other = reconnect()
        found = other.find(key)
        assert found == created
        assert found is not None
        with other.open(found, limits=LIMITS, network=False) as again:
            assert python(again, "import things; things.main()").stdout == "answer 42\n"
            assert sh(again, "things").stdout == "answer 42\n"
            assert sh(again, "stat -c %a src; readlink link; ls -A empty").stdout == "700\nsrc\n"
            assert sh(again, f"ls -A {again.results}").stdout == ""
            assert sh(again, "touch src/new && pip --version && python -m pytest --version").ok

    def test_changes_stay_in_their_sandbox(
        self, provider: SandboxProvider, image: ImageId, key: str
    ) -> None:
        with provider.open(image, limits=LIMITS, network=False) as sandbox:
            sh(sandbox, "echo first > file; echo x > kept")
            snapshot = sandbox.snapshot(key)
            sh(sandbox, "echo later > file")
        with (
            provider.open(snapshot, limits=LIMITS, network=False) as one,
            provider.open(snapshot, limits=LIMITS, network=False) as two,
        ):
            assert sh(one, "cat file; echo one > file; rm kept; touch mine").stdout == "first\n"
            assert python(one, "import sys; open(sys.prefix + '/mine', 'w')").ok
            assert sh(two, "cat file kept; ls").stdout == "first\nx\nfile\nkept\n"
            look = "import os, sys; print(os.path.exists(sys.prefix + '/mine'))"
            assert python(two, look).stdout == "False\n"
        with provider.open(snapshot, limits=LIMITS, network=False) as three:
            assert sh(three, "cat file kept; ls").stdout == "first\nx\nfile\nkept\n"

    def test_a_plain_workspace_lets_folders_of_the_snapshot_be_renamed(
        self, provider: SandboxProvider, image: ImageId, key: str
    ) -> None:
        with provider.open(image, limits=LIMITS, network=False) as sandbox:
            sh(sandbox, "mkdir -p package/deep; echo 1 > package/deep/file; touch gone")
            snapshot = sandbox.snapshot(key)
        with provider.open(
            snapshot, limits=LIMITS, network=False, use=SandboxUse(plain_workspace=True)
        ) as sandbox:
            assert python(sandbox, "import os; os.rename('package', 'other'); os.remove('gone')").ok
            sandbox.write_tree(sandbox.workspace, tar_of_file("added", b"2"))
            assert sh(sandbox, "cat other/deep/file added; ls").stdout == "1\n2added\nother\n"
            sandbox.kill()
            with sandbox.read_tree(sandbox.workspace) as chunks:
                assert set(map(str, read_tree(chunks))) == {
                    "added", "other", "other/deep", "other/deep/file",
                }  # fmt: skip

    def test_a_change_of_a_snapshot_is_read_as_a_whole_tree(
        self, provider: SandboxProvider, image: ImageId, key: str
    ) -> None:
        with provider.open(image, limits=LIMITS, network=False) as sandbox:
            sh(sandbox, "mkdir -p a/b gone; echo 1 > a/b/kept; echo 1 > a/b/changed; touch gone/x")
            snapshot = sandbox.snapshot(key)
        with provider.open(snapshot, limits=LIMITS, network=False) as sandbox:
            assert sh(sandbox, "rm -r gone; echo 22 > a/b/changed; ln -s b a/link; echo 3 > new").ok
            sandbox.write_tree(sandbox.workspace, tar_of_file("a/b/added", b"444"))
            sandbox.kill()
            with sandbox.read_tree(sandbox.workspace) as chunks:
                found = read_tree(chunks)
        assert {str(path): entry.size for path, entry in found.items() if entry.size} == {
            "a/b/kept": 2, "a/b/changed": 3, "a/b/added": 3, "new": 2,
        }  # fmt: skip
        assert PurePosixPath("gone") not in found
        assert found[PurePosixPath("a/link")].kind is EntryKind.SYMLINK

    def test_a_key_that_exists_is_replaced(
        self, provider: SandboxProvider, image: ImageId, key: str
    ) -> None:
        with provider.open(image, limits=LIMITS, network=False) as sandbox:
            sh(sandbox, "echo first > file; touch gone")
            sandbox.snapshot(key)
            sh(sandbox, "echo second > file; rm gone")
            sandbox.snapshot(key)
        found = provider.find(key)
        assert found is not None
        with provider.open(found, limits=LIMITS, network=False) as again:
            assert sh(again, "cat *").stdout == "second\n"

    def test_snapshot_of_a_snapshot_has_both_changes(
        self, provider: SandboxProvider, image: ImageId, key: str
    ) -> None:
        with provider.open(image, limits=LIMITS, network=False) as sandbox:
            sh(sandbox, "echo 1 > one; touch gone")
            first = sandbox.snapshot(key)
        with provider.open(first, limits=LIMITS, network=False) as sandbox:
            sh(sandbox, "echo 2 > two; rm gone")
            second = sandbox.snapshot(key + "-b")
        try:
            provider.discard(first)
            with provider.open(second, limits=LIMITS, network=False) as sandbox:
                assert sh(sandbox, "cat *").stdout == "1\n2\n"
        finally:
            provider.discard(second)

    def test_snapshot_can_be_discarded_twice(
        self, provider: SandboxProvider, fresh: Sandbox, key: str
    ) -> None:
        snapshot = fresh.snapshot(key)
        provider.discard(snapshot)
        provider.discard(snapshot)
        assert provider.find(key) is None
        with (
            pytest.raises(SandboxError),
            provider.open(snapshot, limits=LIMITS, network=False),
        ):
            pass

    def test_killed_sandbox_has_no_snapshot(self, fresh: Sandbox) -> None:
        fresh.kill()
        with pytest.raises(SandboxError):
            fresh.snapshot(KEY)
