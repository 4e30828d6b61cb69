"""Projects whose bug, pytest configuration or plugins are unusual are judged by their tests."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentbench import AttemptRecord
from agentbench.errors import InputError
from agentbench.integrity.records import ControlKind
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.taxonomy import FailureReason, Fault, StageName
from agentbench.validation.task_proof import prove
from tests.e2e.bench import WHOLE, Bench
from tests.e2e.small_task import BUGGY, FIX, HIDDEN, LISTED, SERIAL, VISIBLE, SmallTask, patch_of

UP_TO_BASELINE = tuple(StageName)[:4]
PLAIN = 'pass_to_pass = "baseline"'


def task_with(
    *, files: Mapping[str, str] = {}, listed: tuple[str, ...] = LISTED, **more: Any
) -> SmallTask:
    """The small task with other files; the fix is that of `basket.py` unless it has another."""
    return SmallTask(files={**SmallTask().files, **files}, fail_to_pass=listed, **more)


def ending_bug(ending: str, *, tests: str = PLAIN, listed: bool = True, **more) -> SmallTask:
    """A program that ends the process of its tests, where it should return a number."""
    before = f"import os, signal, sys\n\n\ndef run(number):\n    if number == 3:\n{ending}"
    before += "    return number\n"
    after = "def run(number):\n    return number\n"
    hidden = (
        "from gate import run\n\n\ndef test_first():\n    assert run(1) == 1\n\n\n"
        "def test_ending():\n    assert run(3) == 3\n"
    )
    return task_with(
        files={"gate.py": before},
        hidden=hidden,
        listed=("tests/test_hidden.py::test_ending",) if listed else (),
        tests=tests,
        solution=patch_of("gate.py", before, after),
        **more,
    )


@pytest.fixture
def uncontrolled_bench(walled_bench: Bench) -> Bench:
    """A bench without control runs, which have tests of their own and take half of the time."""
    options = walled_bench.options.replace(integrity_controls=ControlLevel.OFF)
    return replace(walled_bench, options=options)


def both(bench: Bench, folder: Path, project: SmallTask) -> tuple[AttemptRecord, AttemptRecord]:
    """The attempts of the reference solution and of an agent that does nothing."""
    task = project.write(folder / "task")
    return bench.attempt(task, "oracle"), bench.attempt(task, "noop")


BUGS = {
    "leaves with 0": ending_bug("        os._exit(0)\n"),
    "leaves with 3": ending_bug("        os._exit(3)\n"),
    "crashes": ending_bug("        os.kill(os.getpid(), signal.SIGSEGV)\n"),
    "aborts": ending_bug("        os.abort()\n"),
    "leaves with 0, without lists": ending_bug("        os._exit(0)\n", listed=False),
    "crashes, without lists": ending_bug(
        "        os.kill(os.getpid(), signal.SIGSEGV)\n", listed=False
    ),
    "interrupts": ending_bug("        raise KeyboardInterrupt\n"),
    "hangs": ending_bug("        signal.pause()\n", test_timeout_s=5),
}


@pytest.mark.parametrize("project", BUGS.values(), ids=BUGS)
def test_bug_that_ends_process_is_resolved_by_its_fix_alone(
    walled_bench: Bench, tmp_path: Path, project: SmallTask
) -> None:
    fixed, unchanged = both(walled_bench, tmp_path, project)
    assert fixed.resolved, fixed.detail
    assert (
        fixed.warnings == () or "without lists" in str(fixed.warnings) or not project.fail_to_pass
    )
    assert not unchanged.resolved
    assert unchanged.fault is Fault.AGENT
    if project.fail_to_pass:
        task = load_task(tmp_path / "task", mirrors=Mirrors(tmp_path / "mirrors"))
        assert prove(task, [fixed], [unchanged]).faults == ()


HOOKS = {
    "status 0": (
        "import pytest\n@pytest.hookimpl(trylast=True)\n"
        "def pytest_sessionfinish(session): session.exitstatus = 0\n"
    ),
    "leaves with 0 at the end": "import atexit, os\natexit.register(os._exit, 0)\n",
    "leaves with 9 at the end": "import os\ndef pytest_unconfigure(): os._exit(9)\n",
    "crashes at the end": (
        "import os, signal\ndef pytest_unconfigure(): os.kill(os.getpid(), signal.SIGSEGV)\n"
    ),
    "upload fails": "def pytest_sessionfinish(): raise ConnectionError('no network')\n",
    "summary fails": "def pytest_terminal_summary(): raise OSError('no terminal')\n",
    "last hook fails": "def pytest_unconfigure(): raise RuntimeError('broken')\n",
}


@pytest.mark.parametrize(
    "listed", [LISTED, pytest.param((), marks=pytest.mark.soak)], ids=["listed", "unlisted"]
)
@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_exit_code_that_a_hook_sets_decides_nothing(
    uncontrolled_bench: Bench, tmp_path: Path, hook: str, listed: tuple[str, ...]
) -> None:
    project = task_with(files={"conftest.py": hook}, listed=listed)
    fixed, unchanged = both(uncontrolled_bench, tmp_path, project)
    assert fixed.resolved, fixed.detail
    assert unchanged.failure_reason is FailureReason.TESTS_FAILED
    assert unchanged.fault is Fault.AGENT


UNTESTED = {
    "collects only": ({"pytest.ini": "[pytest]\naddopts = --collect-only\n"}, "--collect-only"),
    "plans only": ({"pytest.ini": "[pytest]\naddopts = --setup-plan\n"}, "none ran"),
    "leaves in conftest": ({"conftest.py": "import os\nos._exit(0)\n"}, "exit code 0"),
    "exits in conftest": ({"conftest.py": "import sys\nsys.exit(0)\n"}, "conftest.py, line 2"),
    "exits pytest in conftest": (
        {"conftest.py": "import pytest\npytest.exit('no database', 0)\n"},
        "no database",
    ),
}


@pytest.mark.parametrize(("files", "why"), UNTESTED.values(), ids=UNTESTED)
def test_baseline_without_tests_says_why_and_is_the_tasks(
    walled_bench: Bench, tmp_path: Path, files: Mapping[str, str], why: str
) -> None:
    task = task_with(files=files).write(tmp_path / "task")
    # pytest's own exit in a conftest has a code of its own, which alone is a failing baseline.
    walked = WHOLE if "pytest.exit" in str(files) else UP_TO_BASELINE
    record = walled_bench.attempt(task, "oracle", walked=walked)
    assert record.fault is Fault.TASK
    assert record.failure_reason is not FailureReason.BASELINE_NOT_FAILING
    assert "before any fix" not in record.detail
    assert why in record.detail


BROKEN = {
    "unknown option": (
        {"pytest.ini": "[pytest]\naddopts = --no-such-option\n"},
        "--no-such-option",
    ),
    "broken ini file": ({"pytest.ini": "[pytest]\nminversion = 99\n"}, "99"),
    "hook that raises": (
        {"conftest.py": "def pytest_collection_modifyitems(): raise RuntimeError('broken')\n"},
        "RuntimeError: broken",
    ),
    "conftest that cannot be imported": ({"conftest.py": "import missing_one\n"}, "missing_one"),
    "missing plugin": ({"conftest.py": "pytest_plugins = ['missing_one']\n"}, "missing_one"),
    "same import everywhere": ({"tests/test_basket.py": "import missing_one\n"}, "missing_one"),
}


@pytest.mark.parametrize(("files", "why"), BROKEN.values(), ids=BROKEN)
def test_failure_that_baseline_shares_is_the_tasks(
    uncontrolled_bench: Bench, tmp_path: Path, files: Mapping[str, str], why: str
) -> None:
    hidden = HIDDEN
    if "tests/test_basket.py" in files:
        hidden = f"import missing_one\n{HIDDEN}"
    task = task_with(files=files, hidden=hidden).write(tmp_path / "task")
    record = uncontrolled_bench.attempt(task, "oracle")
    assert (record.resolved, record.fault) == (False, Fault.TASK)
    assert why in record.detail


def test_fixture_of_missing_plugin_is_the_tasks_fault(walled_bench: Bench, tmp_path: Path) -> None:
    visible = VISIBLE.replace("nothing():", "nothing(mocker):").replace(
        "found():", "found(mocker):"
    )
    hidden = HIDDEN.replace("counts():", "counts(mocker):").replace("total():", "total(mocker):")
    project = task_with(files={"tests/test_basket.py": visible}, hidden=hidden)
    for record in both(walled_bench, tmp_path, project):
        assert (record.resolved, record.fault) == (False, Fault.TASK)


def test_listed_test_that_failed_before_is_not_the_agents(
    walled_bench: Bench, tmp_path: Path
) -> None:
    broken = f"{VISIBLE}\n\ndef test_broken():\n    assert basket.cheapest([2]) == 3\n"
    kept = 'pass_to_pass = ["tests/test_basket.py::test_broken"]'
    project = task_with(files={"tests/test_basket.py": broken}, tests=kept)
    fixed, unchanged = both(walled_bench, tmp_path, project)
    assert (fixed.failure_reason, fixed.fault) == (FailureReason.TESTS_FAILED, Fault.TASK)
    assert "test_broken" in fixed.detail
    assert unchanged.fault is Fault.AGENT


OPTIONS = (
    "-x --stepwise --ff",
    "--maxfail=1 --lf --nf",
    "--pdb --trace",
    "-p no:terminal -p no:junitxml -s --assert=plain -p no:logging",
    "-p no:cacheprovider -p no:pytest_jsonreport -qq --no-summary",
    "--exitfirst --sw-skip",
)


@pytest.mark.parametrize("where", ["pytest.ini", pytest.param("command", marks=pytest.mark.soak)])
@pytest.mark.parametrize("options", OPTIONS)
def test_options_of_project_do_not_end_judged_run(
    uncontrolled_bench: Bench, tmp_path: Path, options: str, where: str
) -> None:
    failing = "def test_that_always_fails():\n    assert False\n"
    files = {"tests/test_a_first.py": failing}
    tests = PLAIN
    if where == "command":
        tests += f'\ncommand = "python -m pytest {options}"'
    else:
        files["pytest.ini"] = f"[pytest]\naddopts = {options}\n"
    fixed, unchanged = both(uncontrolled_bench, tmp_path, task_with(files=files, tests=tests))
    assert fixed.resolved, fixed.detail
    assert unchanged.failure_reason is FailureReason.TESTS_FAILED


POLLUTED = "import basket\n\n\ndef test_mode():\n    assert not hasattr(basket, 'MODE')\n"


@pytest.mark.parametrize(
    "polluted", ["tests/test_a.py", "tests/a/test_z.py", "tests/test_hidden_a.py"]
)
def test_files_run_in_pytests_order(walled_bench: Bench, tmp_path: Path, polluted: str) -> None:
    hidden = f"{HIDDEN}    basket.MODE = 1\n"
    if polluted.endswith("hidden_a.py"):  # it comes after the file that pollutes it
        polluted = "tests/test_b.py"
    kept = f'pass_to_pass = ["{polluted}::test_mode"]'
    project = task_with(files={polluted: POLLUTED}, hidden=hidden, tests=kept)
    task = project.write(tmp_path / "task")
    record = walled_bench.attempt(task, "oracle")
    assert record.resolved, record.detail


PACKAGE = {
    "packages/core/basket.py": BUGGY,
    "packages/core/tests/test_basket.py": VISIBLE,
    "packages/other/tests/test_basket.py": "def test_other():\n    pass\n",
}
ROOTDIRS = {
    "own pytest.ini": {"packages/core/pytest.ini": "[pytest]\npythonpath = .\n"},
    "own pyproject.toml": {
        "packages/core/pyproject.toml": "[tool.pytest.ini_options]\npythonpath = '.'\n"
    },
    "own setup.cfg": {"packages/core/setup.cfg": "[tool:pytest]\npythonpath = .\n"},
}
FORMS = {"repository's": "packages/core/tests", "pytest's": "tests"}


@pytest.mark.parametrize(
    "form",
    [FORMS["pytest's"], pytest.param(FORMS["repository's"], marks=pytest.mark.soak)],
    ids=reversed(FORMS),
)
@pytest.mark.parametrize("files", ROOTDIRS.values(), ids=ROOTDIRS)
def test_ids_of_package_with_own_rootdir_are_found(
    walled_bench: Bench, tmp_path: Path, files: Mapping[str, str], form: str
) -> None:
    name = "packages/core/tests/test_hidden.py"
    task = SmallTask(
        files={**PACKAGE, **files, "serial.txt": SERIAL},
        hidden="",
        fail_to_pass=tuple(each.replace("tests/", f"{form}/", 1) for each in LISTED),
        tests=f'pass_to_pass = ["{form}/test_basket.py::test_the_cheapest_is_found"]',
        paths=("packages/core/tests",),
        solution=patch_of("packages/core/basket.py", BUGGY, BUGGY.replace("prices[1:]", "prices")),
    ).write(tmp_path / "task")
    (task / "tests.patch").write_text(patch_of(name, "", HIDDEN))
    fixed, unchanged = walled_bench.attempt(task, "oracle"), walled_bench.attempt(task, "noop")
    assert fixed.resolved, fixed.detail
    assert {test.node_id.partition("::")[0] for test in fixed.tests} == {
        name,
        "packages/core/tests/test_basket.py",
    }
    assert ControlKind.SEALED in {test.control for test in fixed.controls.tests}
    assert unchanged.failure_reason is FailureReason.TESTS_FAILED


RERUNS = {
    "flaky": ("flaky", "@pytest.mark.flaky(max_runs=3)"),
    "pytest-rerunfailures": ("pytest-rerunfailures", "@pytest.mark.flaky(reruns=2)"),
    "pytest-retry": ("pytest-retry", "@pytest.mark.flaky(retries=2)"),
}


@pytest.mark.parametrize("listed", [True, False], ids=["to fix", "to keep"])
@pytest.mark.parametrize(("package", "mark"), RERUNS.values(), ids=RERUNS)
def test_last_run_of_repeated_test_counts(
    walled_bench: Bench, tmp_path: Path, package: str, mark: str, *, listed: bool
) -> None:
    body = "    RUNS.append(1)\n    assert len(RUNS) == 2\n"
    flaky = f"import pytest\n\nRUNS = []\n\n\n{mark}\ndef test_flaky():\n{body}"
    setup = f'commands = ["python -m pip install -q {package}"]'
    if listed:
        hidden = f"{HIDDEN}\n\n{flaky}    assert basket.total([4]) == 4\n"
        ids = (*LISTED, "tests/test_hidden.py::test_flaky")
        project = task_with(hidden=hidden, listed=ids, setup=setup)
    else:
        project = task_with(files={"tests/test_flaky.py": flaky}, setup=setup)
    fixed, unchanged = both(walled_bench, tmp_path, project)
    assert fixed.resolved, fixed.detail
    assert not fixed.quarantined
    assert unchanged.failure_reason is FailureReason.TESTS_FAILED


SPOILED = {
    "pyproject.toml": "echo '[[[' >> pyproject.toml",
    "pyproject.toml, not UTF-8": r"printf '\xff' >> pyproject.toml",
    "new pyproject.toml": "rm pyproject.toml; echo 'a = ' > pyproject.toml",
    "setup.cfg": "echo '[metadata' > setup.cfg",
}


@pytest.mark.parametrize("line", SPOILED.values(), ids=SPOILED)
def test_change_that_spoils_project_file_is_not_resolved(
    walled_bench: Bench, tmp_path: Path, line: str
) -> None:
    files = {"pyproject.toml": "[project]\nname = 'basket'\n", "setup.cfg": ""}
    task = task_with(files=files).write(tmp_path / "task")
    record = walled_bench.command(task, f"{FIX}; {line}")
    assert (record.failure_reason, record.fault) == (FailureReason.INTERNAL_ERROR, Fault.AGENT)
    assert "unreadable" in record.detail


def test_dropped_configuration_is_named_in_detail(walled_bench: Bench, tmp_path: Path) -> None:
    task = task_with().write(tmp_path / "task")
    record = walled_bench.command(task, f"{FIX}; echo x > conftest.py; echo y > tests/test_y.py")
    assert record.resolved
    assert record.detail == "not judged: conftest.py (configuration of the tests)"
    record = walled_bench.command(task, "echo x > conftest.py; echo y > tests/test_y.py")
    assert record.detail.endswith("tests/test_y.py (a test of the task)")


@pytest.mark.parametrize("call", ["os.killpg(os.getpgrp(), SIGUSR1)", "os.kill(0, SIGUSR1)"])
def test_program_can_signal_its_own_group(bench: Bench, tmp_path: Path, call: str) -> None:
    before = "import os\nfrom signal import SIGUSR1\n\n\ndef wake():\n    pass\n"
    after = before.replace("pass", call)
    hidden = (
        "import os, signal\nfrom wake import wake\n\n\ndef test_wake():\n    woken = []\n"
        "    signal.signal(signal.SIGUSR1, lambda *_: woken.append(1))\n    wake()\n"
        "    assert woken == [1]\n    assert os.getpgrp() > 1\n"
    )
    task = task_with(
        files={"wake.py": before},
        hidden=hidden,
        listed=("tests/test_hidden.py::test_wake",),
        solution=patch_of("wake.py", before, after),
    ).write(tmp_path / "task")
    record = bench.attempt(task, "oracle", walked=WHOLE)
    assert record.resolved, record.detail


@pytest.mark.parametrize("setup", ["", 'shared = ["python -m pip --version"]'])
def test_task_can_name_its_own_pip(uncontrolled_bench: Bench, tmp_path: Path, setup: str) -> None:
    hidden = f"{HIDDEN}\n\ndef test_pip():\n    import pip\n    assert pip.__version__ == '24.2'\n"
    task = SmallTask(environment='pip = "24.2"', setup=setup, hidden=hidden).write(
        tmp_path / "task"
    )
    record = uncontrolled_bench.attempt(task, "oracle")
    final = {case.node_id: case.outcome for case in record.stages[-1].evidence.report.cases}
    assert final["tests/test_hidden.py::test_pip"] == "passed"


@pytest.mark.parametrize("pip", ["latest", "24.2; rm -rf /", "==24.2"])
def test_pip_that_is_no_version_is_refused(tmp_path: Path, pip: str) -> None:
    task = SmallTask(environment=f'pip = "{pip}"').write(tmp_path / "task")
    with pytest.raises(InputError, match=r"environment\.pip"):
        load_task(task, mirrors=Mirrors(tmp_path / "mirrors"))
