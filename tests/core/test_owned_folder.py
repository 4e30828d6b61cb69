import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentbench.core.files import has_owner_file, is_owned, owned_folder

HOLD = """
import sys
from pathlib import Path
from agentbench.core.files import owned_folder
with owned_folder("agentbench-x-", Path(sys.argv[1])) as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_owned_until_its_block_ends_and_then_gone(tmp_path: Path) -> None:
    with owned_folder("x-", tmp_path) as folder:
        assert folder.name.startswith("x-")
        assert is_owned(folder)
        assert has_owner_file(folder)
        (folder / "sub").mkdir()
        (folder / "sub" / "file").touch()
        (folder / "link").symlink_to("sub")
    assert list(tmp_path.iterdir()) == []


def test_an_error_in_the_block_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), owned_folder("x-", tmp_path) as folder:
        (folder / "none" / "file").touch()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "namespace", [(), ("unshare", "--user", "--pid", "--fork", "--kill-child")]
)
def test_a_second_process_owns_its_folder_until_it_is_killed(
    tmp_path: Path, namespace: tuple[str, ...]
) -> None:
    if namespace and (shutil.which("unshare") is None or _refused(namespace)):
        namespace = ()  # no namespaces here; then that case is the plain one again
    argv = (*namespace, sys.executable, "-c", HOLD, str(tmp_path))
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert is_owned(folder)
        owner.kill()
        assert owner.stdout.read() == ""  # at the end of all who could write to it
    assert folder.exists()
    assert not is_owned(folder)


def _refused(namespace: tuple[str, ...]) -> bool:
    return subprocess.run((*namespace, "true"), capture_output=True, check=False).returncode != 0


def test_a_folder_without_the_file_may_be_on_its_way_for_a_moment(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    assert is_owned(tmp_path / "new")
    os.utime(tmp_path / "new", (1, 1))
    assert not is_owned(tmp_path / "new")
    assert not has_owner_file(tmp_path / "new")


def test_what_is_gone_has_no_owner(tmp_path: Path) -> None:
    assert not is_owned(tmp_path / "none")
