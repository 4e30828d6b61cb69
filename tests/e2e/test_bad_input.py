"""What goes wrong around an attempt ends in its reason, or in its exit code and one clear line."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentbench.runs.store.store import RunStore
from agentbench.taxonomy import FailureReason, Fault
from tests.e2e.back_ends import one_back_end
from tests.e2e.bench import Bench
from tests.e2e.program import records_of, run_program
from tests.e2e.small_task import FIX, SmallTask
from tests.patience import wait_until

ORACLE = ("--agent", "oracle")
UNCAUGHT = 'command = "python -m pytest -s"'  # what tests print comes out as it is
LOG_CAP = 11 * 2**20  # of a stage: 10 MiB and the times


@one_back_end  # what a back end cuts is tested by its conformance suite
def test_tests_that_print_without_end_are_cut(bench: Bench, tmp_path: Path) -> None:
    noisy = "import sys\\nfor _ in range(200):\\n    sys.__stdout__.write('x' * 2**20)"
    task = SmallTask(tests=UNCAUGHT).write(tmp_path / "small")

    record = bench.command(task, f'{FIX}; printf "{noisy}\\n" >> basket.py')

    assert record.resolved
    final = record.stages[-1]
    assert final.output_bytes > 200 * 2**20
    assert final.truncated
    folder = RunStore.open(bench.options.runs_dir / record.run_id).folder_of(record)
    assert (folder / str(final.log)).stat().st_size < LOG_CAP
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 2 * LOG_CAP


@one_back_end
def test_output_that_is_no_text_spoils_nothing(bench: Bench, tmp_path: Path) -> None:
    binary = r"import sys; sys.__stdout__.buffer.write(bytes(range(256)) + b'\xff\xfe\x80\n')"
    task = SmallTask(tests=UNCAUGHT).write(tmp_path / "small")

    record = bench.command(task, f"{FIX}; cat >> basket.py <<'E'\n{binary}\nE")

    assert record.resolved
    command = record.stages[-1].evidence.command
    assert command is not None
    assert "\ufffd" in command.stdout


@one_back_end  # a fork bomb on each back end is in its conformance suite
def test_tests_that_fork_without_end_cannot_take_the_machine(bench: Bench, tmp_path: Path) -> None:
    bomb = "import os\\nwhile True:\\n    try: os.fork()\\n    except OSError: pass"
    task = SmallTask(environment="pids = 32")

    record, _ = bench.hanging(task, f'printf "{bomb}\\n" > basket.py', tmp_path)

    assert not record.resolved
    assert record.fault is Fault.AGENT
    assert record.failure_reason is FailureReason.TIMEOUT


@one_back_end
def test_tests_that_eat_memory_end_with_the_limit_in_words(bench: Bench, tmp_path: Path) -> None:
    eater = "kept = []\\nwhile True: kept.append(bytearray(b'x') * 2**24)"
    task = SmallTask(environment="memory_mib = 192").write(tmp_path / "small")

    record = bench.command(task, f'printf "{eater}\\n" > basket.py')

    assert record.failure_reason is FailureReason.SANDBOX_ERROR
    assert record.fault is Fault.AGENT
    assert record.detail == "out of memory (limit 192 MiB)"


@one_back_end
def test_tests_that_hang_with_children_of_their_own_leave_none(
    bench: Bench, tmp_path: Path
) -> None:
    mark = f"{os.getpid()}{tmp_path.name.__hash__() % 10**6}"
    hang = (
        f"import subprocess\\nsubprocess.Popen(['sleep', '{mark}'], start_new_session=True).wait()"
    )

    record, _ = bench.hanging(SmallTask(), f'printf "{hang}\\n" > basket.py', tmp_path)

    assert record.failure_reason is FailureReason.TIMEOUT
    assert record.fault is Fault.AGENT
    wait_until(lambda: _processes_called("sleep", mark) == [])


def test_a_wrong_task_is_65_with_every_fault_named(tmp_path: Path, environ: dict[str, str]) -> None:
    SmallTask(test_timeout_s=-3).write(tmp_path / "tasks" / "one")
    SmallTask(tests="pass_to_pas = []").write(tmp_path / "tasks" / "two")
    broken = SmallTask().write(tmp_path / "tasks" / "three")
    (broken / "tests.patch").write_text("--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-x\n+y\n")

    ended = run_program("run", "tasks", env=environ, cwd=tmp_path)

    assert ended.returncode == 65
    assert "tasks/one/task.toml: tests.timeout_s: -3" in ended.stderr
    assert "tasks/two/task.toml: tests.pass_to_pas" in ended.stderr
    assert "tasks/three/tests.patch: does not apply" in ended.stderr
    assert _is_plain(ended, lines=3)
    assert not (tmp_path / "runs").exists()


def test_no_task_at_all_is_65(tmp_path: Path, environ: dict[str, str]) -> None:
    ended = run_program("run", tmp_path, env=environ, cwd=tmp_path)

    assert ended.returncode == 65
    assert "no task here" in ended.stderr
    assert _is_plain(ended)


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("no_such_module_anywhere:agent", "there is no module 'no_such_module_anywhere'"),
        ("command", "needs --agent-command"),
    ],
)
def test_an_agent_that_cannot_be_had_is_2(
    tmp_path: Path, environ: dict[str, str], agent: str, said: str
) -> None:
    task = SmallTask().write(tmp_path / "small")

    ended = run_program("run", task, "--agent", agent, env=environ, cwd=tmp_path)

    assert ended.returncode == 2
    assert said in ended.stderr
    assert _is_plain(ended)
    assert not (tmp_path / "runs").exists()


def test_an_engine_that_is_down_is_69(tmp_path: Path, environ: dict[str, str]) -> None:
    task = SmallTask().write(tmp_path / "small")
    environ["DOCKER_HOST"] = f"unix://{tmp_path}/nobody.sock"

    ended = run_program("run", task, *ORACLE, "--sandbox", "docker", env=environ, cwd=tmp_path)

    assert ended.returncode == 69
    assert f"no Docker engine answers at unix://{tmp_path}/nobody.sock" in ended.stderr
    assert _is_plain(ended)
    assert not (tmp_path / "runs").exists()


@pytest.mark.docker
@pytest.mark.usefixtures("docker")
def test_an_image_that_is_missing_is_69_before_any_attempt(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    task = SmallTask(environment='image = "agentbench/python:3.8"').write(tmp_path / "small")

    ended = run_program("run", task, *ORACLE, "--sandbox", "docker", env=environ, cwd=tmp_path)

    assert ended.returncode == 69
    assert "small: the base image agentbench/python:3.8 is not built" in ended.stderr
    assert "agentbench images build" in ended.stderr
    assert _is_plain(ended)
    assert not (tmp_path / "runs").exists()


def test_a_runs_folder_that_is_a_file_is_2(tmp_path: Path, environ: dict[str, str]) -> None:
    task = SmallTask().write(tmp_path / "small")
    (tmp_path / "runs").write_text("in the way")

    ended = run_program("run", task, *ORACLE, env=environ, cwd=tmp_path)

    assert ended.returncode == 2
    assert "choose another --runs-dir" in ended.stderr
    assert _is_plain(ended)


def test_a_runs_folder_without_permission_is_2(tmp_path: Path, environ: dict[str, str]) -> None:
    task = SmallTask().write(tmp_path / "small")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    environ |= {"AGENTBENCH_CACHE": str(tmp_path / "cache")}
    # Not as somebody else, who may not be let into the folder that this repository lies in.
    unprivileged = ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override")
    prefix = unprivileged if os.getuid() == 0 else ()
    options = ("--sandbox", "process", "--runs-dir", locked)

    ended = run_program("run", task, *ORACLE, *options, env=environ, cwd=tmp_path, prefix=prefix)

    assert ended.returncode == 2, ended.stderr
    assert "cannot be written (Permission denied)" in ended.stderr
    assert _is_plain(ended)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a disk")
@pytest.mark.parametrize("kibibytes", [8, 48])  # no room for the first log; for the first record
def test_a_full_disk_is_69_and_the_run_goes_on_when_there_is_room(
    tmp_path: Path, environ: dict[str, str], walled_bench: Bench, kibibytes: int
) -> None:
    del walled_bench  # or a skip
    task = SmallTask().write(tmp_path / "small")
    with _disk(tmp_path / "runs", kibibytes=kibibytes) as runs:
        ended = run_program(
            "run",
            task,
            *ORACLE,
            "--run-id",
            "full",
            "--sandbox",
            "bubblewrap",
            "--max-outage",
            "0",
            "--integrity-controls",
            "off",
            "-q",
            env=environ,
            cwd=tmp_path,
        )
        subprocess.run(["mount", "-o", "remount,size=8m", runs], check=True)
        resumed = run_program("resume", "full", env=environ, cwd=tmp_path)
        [record] = records_of(runs / "full")

    assert ended.returncode == 69
    assert "runs/full" in ended.stderr
    assert "no space left on device" in ended.stderr.lower()
    assert _is_plain(ended)
    assert resumed.returncode == 0
    assert record.resolved


# It goes on until it is ended: a command that ends at once may do so between two looks at the disk.
_FILLING = "n=0; while :; do n=$((n+1)); head -c 40M /dev/zero > filler$n; done"


def test_an_agent_that_fills_its_disk_harms_itself_alone(bench: Bench, tmp_path: Path) -> None:
    task = SmallTask(environment="disk_mib = 64").write(tmp_path / "small")

    record = bench.command(task, _FILLING)

    assert record.failure_reason is FailureReason.SANDBOX_ERROR
    assert record.fault is Fault.AGENT
    assert record.detail == "out of disk (limit 64 MiB)"


@contextmanager
def _disk(folder: Path, *, kibibytes: int) -> Iterator[Path]:
    """A disk of its own, of so many KiB."""
    folder.mkdir()
    size = f"size={kibibytes}k"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "agentbench-test", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


_ASIDE = ("warning: ", "removed remains of a killed run")  # another test's run, that was killed


def _is_plain(ended: subprocess.CompletedProcess[str], *, lines: int = 1) -> bool:
    """Whether a program said what is wrong in so many lines, without a traceback."""
    said = [line for line in ended.stderr.splitlines() if not line.startswith(_ASIDE)]
    return len(said) == lines and "Traceback" not in ended.stderr and ended.stdout == ""


def _processes_called(*argv: str) -> list[str]:
    wanted = "\0".join([*argv, ""])
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_text() == wanted:
                found.append(path.parent.name)
        except (OSError, UnicodeDecodeError):
            continue
    return found
