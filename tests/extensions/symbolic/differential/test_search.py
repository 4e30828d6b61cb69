import pytest

from agentbench.errors import UnavailableError
from agentbench.extensions.symbolic.differential.search import (
    copy_workspace,
    prepare_comparison,
    write_changes,
)
from agentbench.extensions.symbolic.libraries import LIBRARY_MOUNT, PROGRAMS_MOUNT
from agentbench.sandbox.interface import Command
from tests.extensions.symbolic.differential.conftest import tree_of
from tests.extensions.symbolic.differential.test_differential_audit import audit_in
from tests.fakes.staging import small_task

CHANGE = {"basket.py": "PRICES = 1\n", "new/deep.py": "x = 2\n", "serial.txt": None}


def sandboxes_of(folder, **changes):
    audit = audit_in(folder)
    return prepare_comparison(
        small_task(folder / "small", **changes), audit.resources, audit.cache_dir
    )


@pytest.fixture(scope="module")
def sandboxes(tmp_path_factory):
    return sandboxes_of(tmp_path_factory.mktemp("sandboxes"))


def read(sandbox, *argv):
    from datetime import timedelta

    result = sandbox.run(Command(argv=argv, timeout=timedelta(seconds=600)))
    return result.stdout if result.ok else None


def test_tree_is_written_over_the_base(sandboxes):
    with sandboxes.opened() as sandbox:
        write_changes(sandbox, sandbox.workspace, tree_of({}, CHANGE))
        place = sandbox.workspace
        assert read(sandbox, "cat", f"{place}/basket.py") == "PRICES = 1\n"
        assert read(sandbox, "cat", f"{place}/new/deep.py") == "x = 2\n"
        assert read(sandbox, "cat", f"{place}/serial.txt") is None


def test_copying_leaves_the_workspace_unchanged(sandboxes):
    with sandboxes.opened() as sandbox:
        place = copy_workspace(sandbox, "agent", tree_of({}, CHANGE))
        assert read(sandbox, "cat", f"{place}/basket.py") == "PRICES = 1\n"
        assert read(sandbox, "cat", f"{place}/tests/test_basket.py") is not None
        before = read(sandbox, "cat", f"{sandbox.workspace}/basket.py")
        assert before is not None
        assert "def total" in before


def test_sandbox_has_programs_and_libraries_and_no_network(sandboxes):
    with sandboxes.opened() as sandbox:
        programs = read(sandbox, "ls", str(sandbox.mounted(PROGRAMS_MOUNT)))
        assert programs is not None
        assert "agentbench_mounted" in programs
        assert read(sandbox, "ls", f"{sandbox.mounted(LIBRARY_MOUNT)}/hypothesis") is not None


def test_failed_preparation_is_reported(tmp_path):
    with pytest.raises(UnavailableError, match="cannot be prepared: SETUP"):
        sandboxes_of(tmp_path, setup='commands = ["false"]')
