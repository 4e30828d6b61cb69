import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from pathlib import PurePosixPath as P

import pytest

from agentbench.agents.interface import AgentOutcome
from agentbench.errors import GitCloneError, LLMError, RunCancelled, SandboxError, ToolError
from agentbench.models.interface import ModelUsage
from agentbench.sandbox.archives import tar_of_file
from agentbench.sandbox.interface import Command, Sandbox, SandboxProvider
from agentbench.scoring.classification import classify
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.problem import AgentLimits
from agentbench.taxonomy import FailureReason, Fault, StageName
from tests.e2e.small_task import BUGGY, FIX, VISIBLE
from tests.fakes.scripted_agent import ScriptedAgent
from tests.fakes.staging import go, prepare, small_task, staged
from tests.patience import with_growing_limit
from tests.sandbox.conformance_base import sh


class _Unreadable:
    """A sandbox whose trees are gone."""

    def __init__(self, inner: Sandbox, is_read: Callable[[], None]) -> None:
        self._inner = inner
        self._is_read = is_read

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    @contextmanager
    def read_tree(self, path: PurePosixPath) -> Iterator[Iterator[bytes]]:
        self._is_read()
        raise SandboxError(f"{path} cannot be read")
        yield  # a generator, as the protocol has it


class UnreadableProvider:
    """Opens such sandboxes; with `dies` none any more once one was to be read."""

    def __init__(self, inner: SandboxProvider, *, dies: bool) -> None:
        self._inner = inner
        self._dies = dies
        self._is_dead = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    @contextmanager
    def open(self, *source, **more) -> Iterator[_Unreadable]:
        if self._is_dead:
            raise SandboxError("the engine is away")
        with self._inner.open(*source, **more) as sandbox:
            yield _Unreadable(sandbox, self._read)

    def _read(self) -> None:
        self._is_dead = self._dies


DONE = AgentOutcome(ending=AgentEnding.SUBMITTED)
LIMITS = (0.5, 10.0, 60.0)
"""Seconds for the agent; it gets some grace beyond them."""


def raising(error: BaseException):
    def solve(_given):
        raise error

    return solve


def doing(script: str):
    def solve(given):
        sh(given.sandbox, script)
        return DONE

    return solve


def in_haste(context, seconds: float):
    limits = AgentLimits(timeout_s=seconds)
    problem = context.task.problem.replace(limits=limits)
    context.task = context.task.replace(problem=problem)
    return context


def verdict(evidence):
    failure = classify(StageName.AGENT_RUN, evidence)
    assert failure is not None
    return failure.reason, failure.fault


def test_change_is_extracted(attempt_by, desk):
    with attempt_by(doing(f"{FIX}; echo note > notes.txt")) as context:
        evidence = go(context, "agent_run")
        assert context.change is not None
        assert set(context.change.files) == {P("basket.py"), P("notes.txt")}
    assert evidence.agent is AgentEnding.SUBMITTED
    assert evidence.own_seconds > 0
    assert classify(StageName.AGENT_RUN, evidence) is None
    assert "+    return sum(prices)" in desk.read("patch.diff")
    assert not (desk.folder / "patch.raw.diff").exists()


def test_async_agent_is_awaited(attempt_by, desk):
    async def work(given):
        await asyncio.sleep(0)
        given.sandbox.run("echo note > notes.txt", timeout=60)
        return AgentOutcome(ending=AgentEnding.SUBMITTED)

    with attempt_by(work) as context:
        assert go(context, "agent_run").agent is AgentEnding.SUBMITTED
    assert "+note\n" in desk.read("patch.diff")


def test_agent_learns_its_limits(attempt_by, desk):
    with attempt_by(doing("echo $AGENTBENCH_MAX_STEPS,$AGENTBENCH_MAX_COST > limits")) as context:
        go(context, "agent_run")
    assert "+50,2\n" in desk.read("patch.diff")


@pytest.mark.parametrize("tell", [True, False])
def test_instruction_ends_with_the_limits_if_the_task_says_so(attempt_by, tell):
    instructions = []

    def solve(given):
        instructions.append(given.problem.instruction)
        return DONE

    with attempt_by(solve) as context:
        limits = AgentLimits(tell_limits=tell)
        problem = context.task.problem.replace(limits=limits)
        context.task = context.task.replace(problem=problem)
        go(context, "agent_run")
    assert ("You have 30 minutes" in instructions[0]) is tell


def test_protected_files_are_dropped(attempt_by, desk):
    script = "echo 'assert 0' > conftest.py; rm tests/test_basket.py; echo > pytest.ini"
    with attempt_by(doing(f"{FIX}; {script}; echo > tests/test_hidden.py")) as context:
        go(context, "agent_run")
        assert context.change is not None
        assert set(context.change.files) == {P("basket.py")}
        assert {each.path for each in context.change.dropped} == {
            "conftest.py",
            "pytest.ini",
            "tests/test_basket.py",
            "tests/test_hidden.py",
        }
    assert "conftest.py" not in desk.read("patch.diff")
    assert "conftest.py" in desk.read("patch.raw.diff")


@pytest.mark.parametrize(
    "mess",
    [
        "git config user.email a@b; git config user.name me; git commit -qam fixed",
        "rm -rf .git",
        "rm -rf .git; echo 'gitdir: /etc' > .git",
        "chmod 000 basket.py; chmod 000 .",
        "(sleep 1000; echo late > basket.py) >/dev/null 2>&1 &",
        "mkfifo pipe; ln -s / everything; ln basket.py hard.py",
    ],
    ids=["commits", "no git", "git elsewhere", "unreadable", "background", "odd files"],
)
def test_change_is_found_after_git_commands(attempt_by, mess):
    with attempt_by(doing(f"{FIX}; {mess}")) as context:
        evidence = go(context, "agent_run")
        assert context.change is not None
        fixed = context.change.files[P("basket.py")]
        assert fixed is not None
        assert b"sum(prices)" in fixed.content
        assert set(context.change.files) <= {P("basket.py"), P("hard.py")}
    refused = {finding.where for finding in evidence.findings}
    assert refused == ({"pipe", "everything"} if "pipe" in mess else set())


def test_agent_sees_the_problem_one_commit_and_no_hidden_test(attempt_by):
    seen = []

    def solve(given):
        seen.append(sh(given.sandbox, "ls tests; git log --oneline | wc -l").stdout.split())
        seen.append(given.problem)
        return DONE

    with attempt_by(solve) as context:
        go(context, "agent_run")
        assert seen == [["test_basket.py", "1"], context.task.problem]


@pytest.mark.parametrize(
    ("error", "reason", "fault"),
    [
        (LLMError("429 for ever"), FailureReason.LLM_ERROR, Fault.INFRASTRUCTURE),
        (ToolError("broken"), FailureReason.TOOL_ERROR, Fault.AGENT),
        (SandboxError("it is not"), FailureReason.UNKNOWN, Fault.AGENT),
        (GitCloneError("none was asked for"), FailureReason.UNKNOWN, Fault.AGENT),
        (ZeroDivisionError("odd"), FailureReason.UNKNOWN, Fault.AGENT),
        (TimeoutError("its own"), FailureReason.UNKNOWN, Fault.AGENT),
        (SystemExit(0), FailureReason.UNKNOWN, Fault.AGENT),
        (GeneratorExit(), FailureReason.UNKNOWN, Fault.AGENT),
        (KeyboardInterrupt(), FailureReason.INTERRUPTED, Fault.AGENT),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_exception_of_an_agent_is_evidence(attempt_by, error, reason, fault):
    with attempt_by(raising(error)) as context:
        evidence = go(context, "agent_run")
        assert context.change is not None
    assert verdict(evidence) == (reason, fault)


@pytest.mark.parametrize(
    "nonsense",
    [
        None,
        "done",
        AgentOutcome(ending="won"),
        AgentOutcome(ending=AgentEnding.SUBMITTED, steps="many"),
        AgentOutcome(ending=AgentEnding.SUBMITTED, usage=ModelUsage(cost_usd=float("nan"))),
    ],
)
def test_invalid_outcome_is_the_agents_fault(attempt_by, nonsense):
    with attempt_by(lambda _given: nonsense) as context:
        evidence = go(context, "agent_run")
        assert context.outcome is None
    assert verdict(evidence) == (FailureReason.UNKNOWN, Fault.AGENT)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda given: given.sandbox.run(7),
        lambda given: given.sandbox.run(Command(argv=("ls",))),
        lambda given: given.sandbox.mounted("nothing"),
        lambda given: next(given.sandbox.read_tree(P("/no/such/folder")).__enter__()),
        lambda given: given.sandbox.write_tree(P("/no/such/folder"), b"no tar"),
        lambda given: (given.sandbox.kill(), sh(given.sandbox, "true")),
        lambda given: given.model.facts(),
        lambda given: given.budget.remaining,  # returned, not an outcome
    ],
)
def test_misused_sandbox_is_the_agents_fault(attempt_by, desk, misuse):
    with attempt_by(misuse) as context:
        evidence = go(context, "agent_run")
    assert verdict(evidence) == (FailureReason.UNKNOWN, Fault.AGENT)
    assert desk.printed.startswith(b"Traceback (most recent call last):\n")
    assert evidence.exception.type_name.encode() in desk.printed


def test_sandbox_lost_during_work_is_an_infrastructure_failure(attempt_by):
    with attempt_by() as context:

        def solve(given):
            given.sandbox._inner.kill()  # not by the agent's own door
            sh(given.sandbox, "true")

        context.agent = ScriptedAgent(solve)
        evidence = go(context, "agent_run")
    assert verdict(evidence) == (FailureReason.SANDBOX_ERROR, Fault.INFRASTRUCTURE)


def test_traceback_has_no_secrets(attempt_by, desk):
    key = "canary-0123456789"

    def solve(_given):
        raise ZeroDivisionError(f"an odd day with {key} and {key[::-1]}")

    with attempt_by(solve) as context:
        context.secrets = frozenset({key})
        evidence = go(context, "agent_run")
    fact = evidence.exception
    assert fact.message == "an odd day with [removed] and [removed]"
    assert fact.traceback.endswith("ZeroDivisionError: an odd day with [removed] and [removed]\n")
    assert fact.where.startswith("test_agent_run.py, line ")
    assert 'agent_run.py", line' not in fact.traceback.replace("test_agent_run.py", "")
    assert desk.printed.decode() == fact.traceback
    failure = classify(StageName.AGENT_RUN, evidence)
    assert failure.detail == f"ZeroDivisionError: {fact.message} ({fact.where})"


def test_error_names_the_agents_line(attempt_by):
    def solve(given):
        given.sandbox.write_tree("no path", b"no tar")

    with attempt_by(solve) as context:
        evidence = go(context, "agent_run")
    assert verdict(evidence) == (FailureReason.UNKNOWN, Fault.AGENT)
    assert evidence.exception.where.startswith("test_agent_run.py, line ")


def test_detail_has_no_secrets(attempt_by):
    key = "canary-0123456789"

    def solve(_given):
        return AgentOutcome(ending=AgentEnding.CRASHED, detail=f"401 for {key} and {key[::-1]}")

    with attempt_by(solve) as context:
        context.secrets = frozenset({key})
        evidence = go(context, "agent_run")
        assert context.outcome.detail == "401 for [removed] and [removed]"
    assert evidence.agent_detail == "401 for [removed] and [removed]"


def test_hanging_python_agent_is_abandoned(attempt_by):
    released = threading.Event()

    def solve(given):
        given.sandbox.write_tree(given.sandbox.workspace, tar_of_file("begun.txt", b"x"))
        released.wait()
        return DONE

    def run(seconds: float):
        with attempt_by(solve) as context:
            evidence = go(in_haste(context, seconds), "agent_run")
            assert context.change is not None
            return evidence, set(context.change.files)

    evidence, changed = with_growing_limit(run, lambda made: made[1], LIMITS)
    released.set()
    assert changed == {P("begun.txt")}
    assert verdict(evidence) == (FailureReason.TIMEOUT, Fault.AGENT)


def test_late_submission_is_a_time_limit(attempt_by):
    def solve(given):
        while given.budget.remaining():
            threading.Event().wait(0.05)
        return DONE

    def run(seconds: float):
        with attempt_by(solve) as context:
            return go(in_haste(context, seconds), "agent_run"), seconds

    def submitted(made) -> bool:
        return "still running" not in made[0].agent_detail

    evidence, limit = with_growing_limit(run, submitted, LIMITS)
    assert verdict(evidence) == (FailureReason.TIMEOUT, Fault.AGENT)
    assert evidence.agent_detail == f"the agent used up its {limit:.0f} s"


def test_agent_cannot_swallow_a_cancel(attempt_by):
    with attempt_by() as context:

        def solve(given):
            context.cancel.set()
            with pytest.raises(RunCancelled):
                sh(given.sandbox, "sleep 1000")
            return DONE

        context.agent = ScriptedAgent(solve)
        with pytest.raises(RunCancelled):
            go(context, "agent_run")


def test_sandbox_ended_by_the_agent_is_extracted(attempt_by):
    def solve(given):
        sh(given.sandbox, FIX)
        given.sandbox.kill()
        return DONE

    with attempt_by(solve) as context:
        go(context, "agent_run")
        assert context.change is not None
        assert set(context.change.files) == {P("basket.py")}


def test_removal_of_all_files_is_extracted(attempt_by):
    with attempt_by(doing('find . -mindepth 1 -delete; cd /; rmdir "$OLDPWD"; true')) as context:
        evidence = go(context, "agent_run")
        assert context.change is not None
        assert P("basket.py") in context.change.files
        assert set(context.change.files.values()) == {None}
        assert {each.path for each in context.change.dropped} == {"tests/test_basket.py"}
    assert evidence.findings == ()


@pytest.mark.parametrize(("dies", "fault"), [(False, Fault.AGENT), (True, None)])
def test_unreadable_workspace_is_the_agents_fault(attempt_by, dies, fault):
    with attempt_by(lambda _given: DONE) as context:
        context.provider = UnreadableProvider(context.provider, dies=dies)
        with pytest.raises(SandboxError, match="cannot be read") as caught:
            go(context, "agent_run")
        assert caught.value.fault == fault
        assert context.change is None


TOOLS = (
    "python -m pytest -q; python -m compileall -q basket.py; "
    "mkdir .mypy_cache htmlcov; echo '{}' > .mypy_cache/a.json; echo > htmlcov/index.html; "
    "echo data > .coverage; echo 'assert 0' > .mypy_cache/conftest.py"
)


def test_tool_caches_are_not_judged(attempt_by, desk):
    with attempt_by(doing(f"{FIX}; {TOOLS}")) as context:
        go(context, "agent_run")
        change = context.change
    assert set(change.files) == {P("basket.py")}
    assert [each.path for each in change.dropped] == [".mypy_cache/conftest.py"]
    caches = {cache.path: cache.files for cache in change.tool_caches}
    assert caches.keys() >= {".coverage", ".mypy_cache", ".pytest_cache", "__pycache__", "htmlcov"}
    assert (caches[".mypy_cache"], caches["__pycache__"]) == (1, 1)
    assert desk.read("patch.diff").count("diff --git") == 1
    assert "htmlcov/index.html" in desk.read("patch.raw.diff")


def test_tracked_file_in_a_cache_folder_is_judged(provider, desk, tmp_path):
    files = {
        "basket.py": BUGGY,
        "tests/test_basket.py": VISIBLE,
        "htmlcov/index.html": "tracked",
    }
    setup = 'commands = ["mkdir .pytest_cache", "echo > .pytest_cache/x"]'
    task = small_task(tmp_path / "small", files=files, setup=setup)
    agent = ScriptedAgent(doing("echo > htmlcov/index.html; echo 1 > .pytest_cache/x"))
    with staged(task, provider, desk, agent=agent) as context:
        prepare(context)
        go(context, "agent_run")
        assert set(context.change.files) == {P("htmlcov/index.html")}
        assert [cache.path for cache in context.change.tool_caches] == [".pytest_cache"]
