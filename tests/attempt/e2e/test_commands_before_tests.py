"""Code that is built: every judged run starts with the commands of `[tests] before`."""

import pytest

from agentbench.integrity.records import ControlKind
from agentbench.report.attempt_files import files_in
from agentbench.report.failure_cause import find_cause
from agentbench.runs.options import RunOptions
from agentbench.taxonomy import FailureReason, Fault, StageName
from agentbench.validation.task_proof import run_proofs, run_to_end
from tests.e2e.small_task import BUGGY, FIX, FIXED, SERIAL, VISIBLE, SmallTask, patch_of
from tests.fakes.staging import local_provider, mirrors
from tests.validation.test_task_validation import follow

from agentbench.tasks.loading import load_task  # isort: skip

pytestmark = pytest.mark.full

BUILD = """\
from pathlib import Path

text = Path("basket.src").read_text()
compile(text, "basket.src", "exec")
Path("basket.py").write_text(text)
"""
MAKE = "test ! basket.src -nt basket.py || python build.py"
"""Builds as make and setuptools do: only from a source that is newer than the result."""
FIX_SOURCE = FIX.replace("basket.py", "basket.src")


@pytest.fixture
def built_task(tmp_path):
    def built_task(before, name="built", **changes):
        lines = "\n".join(f"  {line!r}," for line in before)
        files = {"basket.src": BUGGY, "build.py": BUILD, "tests/test_basket.py": VISIBLE}
        task = SmallTask(
            files={**files, "serial.txt": SERIAL},
            setup='commands = ["python build.py"]',
            tests=f'pass_to_pass = "baseline"\nbefore = [\n{lines}\n]',
            solution=patch_of("basket.src", BUGGY, FIXED),
            **changes,
        )
        (tmp_path / name).mkdir()
        return load_task(task.write(tmp_path / name), mirrors=mirrors())

    return built_task


@pytest.fixture
def options(tmp_path):
    return RunOptions(
        sandbox=local_provider(), runs_dir=tmp_path / "runs", cache_dir=tmp_path / "cache"
    )


@pytest.fixture
def attempt(options):
    def attempt(task, command):
        made = options.replace(agent="command", agent_command=command, run_id="one")
        run = run_to_end([task], made, follow)
        (record,) = run.records
        return record, run.store.folder_of(record)

    return attempt


@pytest.mark.parametrize("before", [["python build.py"], [MAKE], ["true", MAKE]])
def test_change_is_built_before_the_tests(built_task, attempt, before):
    record, _ = attempt(built_task(before), FIX_SOURCE)
    assert (record.resolved, record.detail) == (True, "")
    assert record.controls is not None
    assert [test.control for test in record.controls.tests] == [ControlKind.SEALED] * 2


def test_old_build_is_judged_without_commands(built_task, attempt):
    record, _ = attempt(built_task([]), FIX_SOURCE)
    assert record.failure_reason is FailureReason.TESTS_FAILED


def test_task_with_build_commands_is_valid(built_task, options):
    task = built_task([MAKE])
    (proof,) = run_proofs({task.folder: task}, options, follow).values()
    assert (proof.faults, proof.explanation) == ((), ())


@pytest.mark.parametrize(
    ("command", "detail"),
    [
        (
            "echo 'def total(:' > basket.src",
            "the command before the tests exited 1: sh -c python build.py (SyntaxError: ",
        ),
        (
            "rm build.py",
            "the command before the tests exited 2: sh -c python build.py (python: can't open",
        ),
        (
            "echo 'raise SystemExit(3)' > build.py",
            "the command before the tests exited 3: sh -c python build.py",
        ),
    ],
)
def test_failed_build_is_the_agents_fault(built_task, attempt, command, detail):
    record, folder = attempt(built_task(["python build.py"]), command)
    assert (record.failure_reason, record.fault) == (FailureReason.TESTS_FAILED, Fault.AGENT)
    assert record.detail.startswith(detail)
    cause = find_cause(record, files_in(folder))
    assert cause is not None
    assert cause.summary.startswith("The command before the tests exited with code ")
    assert (folder / "stages" / "final_test.log").is_file()


def test_hanging_build_is_the_agents_fault(built_task, attempt):
    task = built_task(["python build.py"], test_timeout_s=3)
    record, _ = attempt(task, "echo 'import time; time.sleep(600)' > build.py")
    assert (record.failure_reason, record.fault) == (FailureReason.TIMEOUT, Fault.AGENT)


@pytest.mark.parametrize("line", ["python gone.py", "exit 5", "exit 124", "kill -9 $$"])
def test_failing_command_in_the_baseline_is_the_tasks_fault(built_task, attempt, line):
    record, _ = attempt(built_task([line]), FIX_SOURCE)
    assert record.fault is Fault.TASK
    assert record.stages[-1].name is StageName.BASELINE_RUN
    if "kill" not in line:
        assert record.failure_reason is FailureReason.SETUP_FAILED
        assert record.detail.startswith("the command before the tests exited ")
