"""Each reason, whose fault it is, and what the first screen of `show` and the web page say."""

import html
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from agentbench import AttemptRecord
from agentbench.agents.command import CommandAgent
from agentbench.agents.interface import Agent
from agentbench.agents.predictions import PredictionsAgent
from agentbench.runs.store.store import RunStore
from agentbench.scoring.evidence import AgentEnding, Evidence, Finding, Severity
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import FailureReason, Fault, StageName
from tests import web_page
from tests.cli.conftest import call
from tests.e2e.bench import PREPARED, WHOLE, Bench
from tests.e2e.small_task import FIX, FIXED, PARTIAL_FIX, SERIAL, SmallTask, patch_of
from tests.runs.records import configuration, interrupted, lost, record_of
from tests.scoring import strategies

ROWS, COLUMNS = 24, 80
FAULTY = "tests.e2e.agents_at_fault:"
NOBODY = "0" * 40
BASELINE = (*PREPARED, StageName.BASELINE_RUN)
FIRST = "tests/test_hidden.py::test_every_price_counts"
HOOK = "def pytest_collection_modifyitems(items):\n    import basket\n    basket.cheapest([1])\n"
DOCUMENTED = (
    'def total(p):\n    """\n    >>> total([1, 2])\n    3\n    """\n    return sum(p[1:])\n'
)
UNFINISHED = "printf 'def total(p):\\n    return (\\n' > basket.py"


def with_files(**changed: str) -> SmallTask:
    """The small task with other files, by their names without `.py`."""
    named = {f"{name}.py": text for name, text in changed.items()}
    return SmallTask(files={**SmallTask().files, **named})


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """A kind of failed attempt: what makes it fail, and what a reader has to be told first."""

    name: str
    reason: FailureReason
    fault: Fault = Fault.AGENT
    walked: tuple[StageName, ...] = WHOLE
    words: tuple[str, ...]
    task: SmallTask = field(default_factory=SmallTask)
    agent: Agent | str = "noop"


def command(line: str) -> Agent:
    """An agent that is one shell command."""
    return CommandAgent(line)


def predicting(patch: str) -> Agent:
    """An agent that submits a patch."""
    return PredictionsAgent({TaskId("small"): patch.encode()}, name="predictions")


R = FailureReason
KINDS = (
    Failing(
        name="wrong value", reason=R.TESTS_FAILED,
        words=(f"{FIRST} still fails", "test_hidden.py:5: assert basket.total([1, 2, 3]) == 6",
               "expected 6", "actual 5", "1 more deciding test", "The agent changed no file."),
    ),
    Failing(
        name="sealed mismatch", reason=R.TESTS_FAILED, agent=command(PARTIAL_FIX),
        words=(f"{FIRST} still fails", "assert basket.total([1, 2, 3]) == 6", "expected 6",
               "actual 5", "basket.py:6 + return sum(prices[1:]) or sum(prices)"),
    ),
    Failing(
        name="exception", reason=R.TESTS_FAILED,
        agent=command(rf"{FIX}; sed -i 's/sum(prices)/sum(prices) + prices[10]/' basket.py"),
        words=(FIRST, "IndexError: list index out of range",
               "in the traceback basket.py:6 + return sum(prices) + prices[10]"),
    ),
    Failing(
        name="regression", reason=R.TESTS_FAILED,
        agent=command(f"{FIX}; sed -i 's/min(prices)/max(prices)/' basket.py"),
        words=("test_the_cheapest_is_found passed before the change and fails now",
               "expected 1", "actual 3", "basket.py:11 + return max(prices)"),
    ),
    Failing(
        name="empty patch", reason=R.TESTS_FAILED, agent=predicting(""),
        words=(FIRST, "The agent changed no file."),
    ),
    Failing(
        name="syntax error", reason=R.INTERNAL_ERROR, agent=command(UNFINISHED),
        words=("cannot be collected: SyntaxError in basket.py:2", "1 more file"),
    ),
    Failing(
        name="syntax error by way of conftest.py", reason=R.INTERNAL_ERROR,
        agent=command(UNFINISHED), task=with_files(conftest="import basket\n"),
        words=("conftest.py cannot be collected: SyntaxError in basket.py:2", "+ return ("),
    ),
    Failing(
        name="import error", reason=R.INTERNAL_ERROR,
        agent=command(f"{FIX}; echo 'import no_such_module' >> basket.py"),
        words=("cannot be collected: ModuleNotFoundError in basket.py:12: No module named",
               "+ import no_such_module"),
    ),
    Failing(
        name="internal error of pytest", reason=R.INTERNAL_ERROR,
        agent=command("echo 'total = sum' > basket.py"), task=with_files(conftest=HOOK),
        words=("pytest ended with an internal error: AttributeError in conftest.py:3: module",
               "basket.py:1 + total = sum"),
    ),
    Failing(
        name="early exit", reason=R.INTERNAL_ERROR,
        agent=command(f"{FIX}; echo 'import os; os._exit(0)' >> basket.py"),
        words=("ended pytest before its report was complete (exit code 0)", "+ import os; os."),
    ),
    Failing(
        name="interrupt from within", reason=R.INTERRUPTED,
        agent=command(f"{FIX}; echo 'raise KeyboardInterrupt' >> basket.py"),
        words=("The code under test interrupted pytest: KeyboardInterrupt",
               "in the traceback basket.py:12 + raise KeyboardInterrupt"),
    ),
    Failing(
        name="segmentation fault", reason=R.UNKNOWN,
        agent=command(f"{FIX}; echo 'import ctypes; ctypes.string_at(0)' >> basket.py"),
        words=("killed by signal 11 (SIGSEGV)", "basket.py:12 + import ctypes"),
    ),
    Failing(
        name="no tests", reason=R.NO_TESTS_COLLECTED,
        agent=command("echo 'total = sum' > basket.py"),
        task=SmallTask(
            files={"basket.py": DOCUMENTED, "serial.txt": SERIAL}, hidden="", paths=(),
            fail_to_pass=(), tests='command = "python -m pytest --doctest-modules"',
        ),
        words=("No tests were collected", "basket.py:1 + total = sum"),
    ),
    Failing(
        name="agent that exits", reason=R.TOOL_ERROR, agent=command("echo no key >&2; exit 1"),
        words=("The agent failed: agent exited 1: no key.", "The agent changed no file."),
    ),
    Failing(
        name="missing agent", reason=R.TOOL_ERROR, agent=command("true; no-such-agent --fix"),
        words=("Agent command not found: no-such-agent",),
    ),
    Failing(
        name="patch that does not apply", reason=R.TOOL_ERROR,
        agent=predicting(patch_of("basket.py", "a\nb\nc\n", "a\nd\nc\n")),
        words=("the model's patch does not apply: error: patch failed: basket.py:1",),
    ),
    Failing(
        name="agent out of memory", reason=R.SANDBOX_ERROR,
        agent=command("exec python -c 'x = bytearray(1); x *= 1 << 30'"),
        task=SmallTask(environment="memory_mib = 128"),
        words=("The agent ran out of memory; the limit is 128 MiB.",),
    ),
    Failing(
        name="agent out of time", reason=R.TIMEOUT, agent=command("echo thinking; sleep 600"),
        task=SmallTask(agent="timeout_s = 2"),
        words=("The agent was still running at its limit of 2 s", "last output thinking"),
    ),
    Failing(
        name="step limit", reason=R.AGENT_GAVE_UP, agent=f"{FAULTY}out_of_steps",
        words=("The agent stopped at its step limit: gave up after 50 steps.",),
    ),
    Failing(
        name="model", reason=R.LLM_ERROR, fault=Fault.INFRASTRUCTURE,
        agent=f"{FAULTY}model_failed",
        words=("The agent's model failed: invalid key.",),
    ),
    Failing(
        name="model that is down", reason=R.LLM_ERROR, fault=Fault.INFRASTRUCTURE,
        agent=f"{FAULTY}model_is_down", words=("LLMError: 429 for ever",),
    ),
    Failing(
        name="broken tool", reason=R.TOOL_ERROR, agent=f"{FAULTY}tool_is_broken",
        words=("the patch does not apply",),
    ),
    Failing(
        name="agent that crashes", reason=R.UNKNOWN, agent=f"{FAULTY}odd",
        words=("The agent raised an error: ZeroDivisionError: an odd day", "at_fault.py, line"),
    ),
    Failing(
        name="set-up", reason=R.SETUP_FAILED, fault=Fault.TASK, walked=PREPARED,
        task=SmallTask(setup='commands = ["echo linking; echo no compiler >&2; exit 3"]'),
        words=("The set-up command exited with code 3: `echo linking", "no compiler"),
    ),
    Failing(
        name="set-up out of time", reason=R.SETUP_TIMEOUT, fault=Fault.TASK, walked=PREPARED,
        task=SmallTask(
            setup='commands = ["echo downloading; sleep 600 & setsid sleep 600"]\ntimeout_s = 1.5'
        ),
        words=("The set-up command was still running at its limit of 1.5 s", "downloading"),
    ),
    Failing(
        name="set-up out of memory", reason=R.SANDBOX_ERROR, fault=Fault.TASK, walked=PREPARED,
        task=SmallTask(
            setup="""commands = ["python -c 'x = bytearray(1); x *= 1 << 30'"]""",
            environment="memory_mib = 128",
        ),
        words=("The set-up command ran out of memory; the limit is 128 MiB.",),
    ),
    Failing(
        name="no bug", reason=R.BASELINE_NOT_FAILING, fault=Fault.TASK, walked=BASELINE,
        task=with_files(basket=FIXED),
        words=("The task has no bug to fix: the tests pass before any fix.", FIRST),
    ),
    Failing(
        name="no bug and no list", reason=R.BASELINE_NOT_FAILING, fault=Fault.TASK,
        walked=BASELINE, task=replace(with_files(basket=FIXED), fail_to_pass=()),
        words=("The task has no bug to fix: the tests pass before any fix.",),
    ),
    Failing(
        name="clone", reason=R.GIT_CLONE_FAILED, fault=Fault.TASK, walked=PREPARED[:1],
        task=SmallTask(repo=f'url = "file:///nowhere/gone.git"\ncommit = "{NOBODY}"', files={}),
        words=("The clone failed: ", "file:///nowhere/gone.git"),
    ),
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_cause_comes_first(walled_bench: Bench, tmp_path: Path, kind: Failing) -> None:
    (tmp_path / "small").mkdir()
    task = kind.task.write(tmp_path / "small")

    record = walled_bench.attempt(task, kind.agent, walked=kind.walked)

    assert (record.failure_reason, record.fault) == (kind.reason, kind.fault)
    first = record.failures[0]
    assert (first.reason, first.fault) == (kind.reason, kind.fault)
    assert_cause_is_first(walled_bench.options.runs_dir, record, kind.words)


def test_tests_that_hang_are_named(walled_bench: Bench, tmp_path: Path) -> None:
    body = "printf 'def cheapest(p): return min(p)\\ndef total(p):\\n    while p: pass\\n'"

    record, seconds = walled_bench.hanging(SmallTask(), f"{body} > basket.py", tmp_path)

    assert (record.failure_reason, record.fault) == (FailureReason.TIMEOUT, Fault.AGENT)
    words = (f"The test run was still running at its limit of {seconds} s, in tests/test_",
             "basket.py:3 + while p: pass")  # fmt: skip
    assert_cause_is_first(walled_bench.options.runs_dir, record, words)


def test_a_missing_commit_is_named(walled_bench: Bench, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    subprocess.run(["git", "init", "--quiet", origin], check=True)
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    commit = ("commit", "--quiet", "--allow-empty", "--message", "Begin")
    subprocess.run(["git", "-C", origin, *who, *commit], check=True)
    (tmp_path / "small").mkdir()
    repo = f'url = "file://{origin}"\ncommit = "{NOBODY}"'
    task = SmallTask(repo=repo, files={}).write(tmp_path / "small")

    record = walled_bench.attempt(task, "noop", walked=PREPARED[:2])

    assert record.failure_reason is FailureReason.GIT_CHECKOUT_FAILED
    assert record.fault is Fault.TASK
    words = ("The checkout failed: ", f"has no commit {NOBODY}")
    assert_cause_is_first(walled_bench.options.runs_dir, record, words)


def quarantined() -> AttemptRecord:
    """An attempt whose tests passed, and whose agent cheated."""
    cheat = Finding(rule="peeked", severity=Severity.CRITICAL, where="agent", what="read the key")
    passed = strategies.ran(strategies.case(strategies.A), strategies.case(strategies.B))
    agent = Evidence(agent=AgentEnding.SUBMITTED, findings=(cheat,))
    return record_of(strategies.attempt(passed, agent_run=agent))


RECORDED: Mapping[str, tuple[AttemptRecord, str]] = {
    "lost sandbox": (
        lost(),
        "The sandbox failed during setup: the engine went away.",
    ),
    "cancelled run": (interrupted(), "The run was cancelled during setup."),
    "quarantine": (
        quarantined(),
        "Quarantined: peeked at agent: read the key. The final test passed, but does not count.",
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_the_cause_in_a_record_comes_first(tmp_path: Path, name: str) -> None:
    record, words = RECORDED[name]
    store = RunStore.create(tmp_path / "runs", configuration())
    folder, _ = store.attempt_folder(record.task_id, record.attempt)
    store.append(record, folder)
    on_disk = record.replace(run_id=store.folder.name)
    assert_cause_is_first(tmp_path / "runs", on_disk, (words,))


def assert_cause_is_first(runs_dir: Path, record: AttemptRecord, words: tuple[str, ...]) -> None:
    """The first screen of `show` and the part of the page before the stages have these words."""
    said = call("show", record.run_id, record.task_id, "--runs-dir", runs_dir)
    assert said.code == 0
    for each in words:
        assert each in " ".join(first_screen(said.stdout).split()), said.stdout[:3000]
    if web_page.IS_THERE:
        address = f"/runs/{record.run_id}/attempts/{record.task_id}/1"
        text = web_page.page_text(runs_dir, address)
        page = text[text.index('id="cause"') : text.index('id="stages"')]
        shown = " ".join(html.unescape(re.sub(r"</?(code|dt|dd)>", " ", page)).split())
        assert [each for each in words if each not in shown] == [], shown


def first_screen(text: str) -> str:
    """The lines of a text that fit on a terminal, which breaks long ones anywhere."""
    shown, rows = [], 0
    for line in text.splitlines():
        fitting = line[: max(0, ROWS - rows) * COLUMNS]
        rows += max(1, -(-len(line) // COLUMNS))
        shown.append(fitting)
    return "\n".join(shown)
