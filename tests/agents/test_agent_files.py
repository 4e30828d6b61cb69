import stat
from pathlib import Path, PurePosixPath

import pytest

from agentbench.agents.agent_files import AgentFiles, local_programs
from agentbench.errors import UsageError

INSIDE = PurePosixPath("/agentbench/agent-files")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a script, a module and the folder of a program, as the current one."""
    monkeypatch.chdir(tmp_path)
    for name, mode in (
        ("fix.sh", 0o700),
        ("agent.py", 0o600),
        ("agent/run.sh", 0o755),
        ("agent/lib/helper.py", 0o640),
        ("my agent/run.sh", 0o755),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(mode)
    return tmp_path


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("./fix.sh", ("./fix.sh",)),
        ("cd /tmp && ./fix.sh -k {instruction}", ("./fix.sh",)),
        ("cat x | agent/run.sh | ./fix.sh", ("agent/run.sh", "./fix.sh")),
        ("bash -x ./fix.sh", ("./fix.sh",)),
        ("TERM=dumb python3 -u agent.py --all", ("agent.py",)),
        ("uv run agent.py", ("agent.py",)),
        ("'./my agent/run.sh' now", ("./my agent/run.sh",)),
        ("sh -c './fix.sh x'", ("./fix.sh",)),
        # No program or script of this machine:
        ("fix.sh", ()),
        ("./gone.sh", ()),
        ("python -m agent", ()),
        ("my-agent agent.py ./agent.py > ./agent.py", ()),
        ("", ()),
    ],
)
def test_local_programs_are_found_in_command(line, programs):
    assert local_programs(line) == programs


def test_absolute_and_home_paths_are_found(here, monkeypatch):
    monkeypatch.setenv("HOME", str(here))
    assert local_programs(f"{here}/fix.sh") == (f"{here}/fix.sh",)
    assert local_programs("~/fix.sh") == (f"{here}/fix.sh",)


@pytest.mark.parametrize(
    ("line", "inside"),
    [
        ("./fix.sh a", f"{INSIDE}/fix.sh a"),
        ("cd x; ../fix.sh", f"cd x; {INSIDE}/fix.sh"),
        ("python agent.py", f"python {INSIDE}/agent.py"),
        ("agent/run.sh --conf=./agent/lib", f"{INSIDE}/agent/run.sh --conf={INSIDE}/agent/lib"),
        ("./run.sh", f"{INSIDE}/agent/run.sh"),
        ("'./my agent/run.sh'", f"'{INSIDE}/my agent/run.sh'"),
        ("fix.sh agent.py", "fix.sh agent.py"),
        ("tests/fix.sh ../other", "tests/fix.sh ../other"),
    ],
)
def test_local_paths_in_command_are_replaced(here, monkeypatch, line, inside):
    files = AgentFiles([here / name for name in ("fix.sh", "agent.py", "agent", "my agent")])
    monkeypatch.chdir("/")  # `resume` may be called elsewhere
    assert files.with_paths(line, INSIDE) == inside


@pytest.mark.parametrize("line", ["./agent/run.sh x", "agent/run.sh x", "../agent/run.sh x"])
def test_a_program_in_a_folder_is_found_by_its_path(here, monkeypatch, line):
    files = AgentFiles([here / "agent" / "run.sh", here / "fix.sh"])
    monkeypatch.chdir("/")
    assert files.with_paths(line, INSIDE) == f"{INSIDE}/run.sh x"
    assert files.provides(line.split()[0])
    assert files.with_paths("./other/run.sh x", INSIDE) == "./other/run.sh x"


def test_absolute_paths_are_replaced(here):
    files = AgentFiles([here / "agent"])
    assert files.with_paths(f"{here}/agent/run.sh {here}/fix.sh", INSIDE) == (
        f"{INSIDE}/agent/run.sh {here}/fix.sh"
    )


def test_programs_on_their_path_are_provided(here):
    files = AgentFiles([here / "fix.sh", here / "agent"])
    provided = {"fix.sh", "run.sh", "./fix.sh", "agent/run.sh"}
    assert {name for name in (*provided, "./gone", "agent.py") if files.provides(name)} == provided
    assert files.search_path(INSIDE) == f"{INSIDE}/agent:{INSIDE}"


def test_copies_are_readable_by_all_and_removed_in_the_end(here):
    (here / "agent" / "broken").symlink_to("nowhere")
    files = AgentFiles([here / "fix.sh", here / "agent"])
    folder = files.mount.source
    (here / "fix.sh").write_text("changed")
    modes = {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode)
        for path in folder.rglob("*")
    }
    assert modes == {
        "fix.sh": 0o755, "agent": 0o755, "agent/run.sh": 0o755, "agent/lib": 0o755,
        "agent/lib/helper.py": 0o644,
    }  # fmt: skip
    assert (folder / "fix.sh").read_text() == "#!/bin/sh\n"
    del files
    assert not folder.exists()


def test_files_that_cannot_be_copied_are_refused(here):
    (here / "loop").mkdir()
    (here / "loop" / "again").symlink_to(here / "loop")
    for paths, message in (
        (["gone.sh"], r"expected a file or a folder, found nothing at .*/gone\.sh"),
        (["agent/run.sh", "my agent/run.sh"], r"expected different names, found run\.sh, run\.sh"),
        (["loop"], "--agent-files .*/loop: cannot be copied"),
    ):
        with pytest.raises(UsageError, match=message):
            AgentFiles([Path(each) for each in paths])
