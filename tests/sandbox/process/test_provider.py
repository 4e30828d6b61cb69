"""Process keeps what it can, which is little, and says so."""

import os
import tempfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.host_environment import host_python, sandbox_user
from agentbench.sandbox.interface import (
    Command,
    ImageId,
    Limits,
    Promise,
    ReadOnlyMount,
    Sandbox,
    SandboxProvider,
)
from agentbench.sandbox.process.provider import (
    FOLDER_PREFIX,
    ProcessProvider,
    ProcessRunner,
    mount_paths,
    open_in_place,
    scrubbed_environment,
)
from agentbench.sandbox.trees import FileOwner
from tests.environments import with_shared_environments
from tests.sandbox.conformance import SandboxConformance
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.conformance_endings import DAEMONS, HELD, prepare, survivors


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_shared_environments(tmp_path_factory.mktemp("process"), tmp_path_factory)


@pytest.fixture(scope="session")
def provider(cache_dir: Path) -> ProcessProvider:
    return ProcessProvider.connect(cache_dir=cache_dir)


@pytest.fixture(scope="session")
def image(provider: ProcessProvider) -> ImageId:
    return provider.resolve_image(None)


@pytest.fixture(scope="session")
def gaps() -> frozenset[Promise]:
    return frozenset(Promise)


@pytest.fixture(scope="session")
def reconnect(cache_dir: Path) -> Callable[[], SandboxProvider]:
    return lambda: ProcessProvider.connect(cache_dir=cache_dir)


def is_mine(root: Path) -> bool:
    """Whether this process made it; another worker of the test run makes its own."""
    try:
        return (root / "owner").read_text().strip() == str(os.getpid())
    except FileNotFoundError:
        return False


@pytest.fixture(scope="session")
def leftovers(provider: ProcessProvider) -> Callable[[], frozenset[str]]:
    def look() -> frozenset[str]:
        return frozenset(map(str, filter(is_mine, provider.live.glob(f"{FOLDER_PREFIX}*"))))

    return look


@pytest.fixture(scope="session")
def reachable_host() -> str:
    return "127.0.0.1"


class TestConformance(SandboxConformance):
    def test_daemons_die_with_their_command(self, fresh: Sandbox) -> None:
        prepare(fresh)
        assert sh(fresh, f"{DAEMONS}\npython until.py {' '.join(HELD)}").ok
        assert survivors(fresh) == ""

    def test_relocated_environment_works(self, provider: ProcessProvider, image: ImageId) -> None:
        with provider.open(image, limits=LIMITS, network=False) as sandbox:
            result = sh(sandbox, 'pip --version && head -1 "$VIRTUAL_ENV/bin/pip"')
        assert result.stdout.count(str(sandbox.workspace.parent / "venv")) == 2


@pytest.fixture
def ours() -> Iterator[Path]:
    """A folder of ours that lets others through, as pytest's own does not."""
    with tempfile.TemporaryDirectory(prefix="agentbench-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "tools" / "deep").mkdir(parents=True)
        (folder / "tools" / "deep" / "a.txt").write_text("in a folder")
        (folder / "tools" / "run").write_text("a program")
        (folder / "tools" / "run").chmod(0o700)
        (folder / "note").write_text("a file")
        yield folder


def found(ours: Path, *, user=None, live: bool = False) -> dict[str, Path]:
    names = ("tools", "note")
    mounts = [ReadOnlyMount(name=name, source=ours / name, live=live) for name in names]
    places = mount_paths(mounts, ours / "copies", user)
    return {name: Path(place) for name, place in places.items()}


def in_place(ours: Path) -> dict[str, Path]:
    return {name: (ours / name).resolve() for name in ("tools", "note")}


def copied(ours: Path) -> dict[str, Path]:
    return {name: ours / "copies" / name for name in ("tools", "note")}


@pytest.mark.skipif(sandbox_user() is None, reason="only root can become another user")
def test_readable_mount_is_used_in_place(ours):
    assert found(ours, user=sandbox_user()) == in_place(ours)
    assert not (ours / "copies").exists()


@pytest.mark.skipif(sandbox_user() is None, reason="only root can become another user")
def test_unreadable_mount_is_copied(ours):
    (ours / "tools").chmod(0o700)
    (ours / "tools" / "deep" / "a.txt").chmod(0o600)
    (ours / "note").chmod(0o600)
    places = found(ours, user=sandbox_user())
    assert places == copied(ours)
    text, program = places["tools"] / "deep" / "a.txt", places["tools"] / "run"
    assert (text.read_text(), places["note"].read_text()) == ("in a folder", "a file")
    modes = {path.name: path.stat().st_mode & 0o777 for path in (text, program, text.parent)}
    assert modes == {"a.txt": 0o644, "run": 0o755, "deep": 0o755}
    assert {path.stat().st_uid for path in (text, program, *places.values())} == {os.geteuid()}


@pytest.mark.skipif(sandbox_user() is None, reason="only root can become another user")
def test_mount_below_a_closed_folder_is_copied(ours):
    home = ours / "home"
    home.mkdir(mode=0o700)
    (ours / "tools").rename(home / "tools")
    mount = ReadOnlyMount(name="tools", source=home / "tools")
    [place] = mount_paths([mount], ours / "copies", sandbox_user()).values()
    assert Path(place) == ours / "copies" / "tools"


@pytest.mark.skipif(sandbox_user() is None, reason="only root can become another user")
def test_live_mount_stays_in_place(ours):
    (ours / "tools").chmod(0o700)
    assert found(ours, user=sandbox_user(), live=True) == in_place(ours)


def runner(folder: Path, user: FileOwner | None = None) -> ProcessRunner:
    return ProcessRunner(
        python=host_python().executable,
        user=user,
        folder=folder,
        limits=Limits(),
        environment={"PATH": "/usr/bin:/bin"},
    )


def command(*argv: str, seconds: float = 60.0) -> Command:
    return Command(argv=argv, timeout=timedelta(seconds=seconds))


def never() -> bool:
    return False


def test_argument_may_exceed_the_limit_of_one_word(tmp_path: Path) -> None:
    result = runner(tmp_path).run(command("sh", "-c", "echo ${#1}; #", "x", "y" * 100_000), never)
    assert result.stdout == "100000\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another")
def test_command_runs_as_its_user() -> None:
    dropped = runner(Path("/"), FileOwner(uid=60706, gid=60706))
    assert dropped.run(command("id", "-u"), never).stdout == "60706\n"
    groups = dropped.run(command("id", "-G"), never)
    assert groups.stdout == "60706\n"


@pytest.fixture
def sandbox(tmp_path):
    environ = {"PATH": os.environ["PATH"], "SECRET": "x"}
    with open_in_place(tmp_path, environ=environ) as sandbox:
        yield sandbox


def test_commands_run_in_the_project_itself(sandbox, tmp_path):
    sh(sandbox, "echo made > file")
    assert (tmp_path / "file").read_text() == "made\n"
    assert Path(sandbox.workspace) == tmp_path


def test_results_are_private_and_gone_at_the_end(tmp_path):
    with open_in_place(tmp_path, environ=os.environ) as sandbox:
        results = Path(sandbox.results)
        assert results.stat().st_mode & 0o077 == 0
        assert results.parent.name.startswith(FOLDER_PREFIX)
        sh(sandbox, f"echo x > {sandbox.results}/y; echo z > $TMPDIR/z")
        with sandbox.read_tree(sandbox.results) as chunks:
            assert b"".join(chunks)
    assert not results.parent.exists()
    assert list(tmp_path.iterdir()) == []


def test_the_environment_is_scrubbed(sandbox):
    assert "SECRET" not in sh(sandbox, "env").stdout
    kept = {"PATH": "a", "LC_ALL": "b", "HOME": "c"}
    assert (
        scrubbed_environment({**kept, "PYTHONPATH": "d", "PYTEST_ADDOPTS": "e", "AWS_KEY": "f"})
        == kept
    )


def test_mounts_are_the_files_themselves(tmp_path):
    (tmp_path / "source").mkdir()
    mount = ReadOnlyMount(name="thing", source=tmp_path / "source")
    with open_in_place(tmp_path, environ=os.environ, mounts=(mount,)) as sandbox:
        assert Path(sandbox.mounted("thing")) == tmp_path / "source"


def test_there_is_no_snapshot_of_a_project_in_place(sandbox):
    with pytest.raises(SandboxError, match="used in place"):
        sandbox.snapshot("key")
