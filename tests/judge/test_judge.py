"""Verdicts on submitted changes: their rewards, their sharing, their ends."""

import asyncio
import json
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError
from pathlib import Path
from threading import Thread

import pytest

from agentbench import Judge, RunOptions, Submission
from agentbench.core.host import default_cache_dir
from agentbench.errors import InputError, UsageError
from agentbench.judge.judge_verdict import DEADLINE_DETAIL
from agentbench.judge.reward_kind import RewardKind
from agentbench.runs.api import run_attempt
from agentbench.runs.store.configuration import RunEnding
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from agentbench.sandbox.cleanup import find_dead_orphans
from agentbench.sandbox.interface import SandboxProvider
from agentbench.scoring.evidence import CaseOutcome
from agentbench.tasks.task import Task
from agentbench.taxonomy import FailureReason, Fault
from tests.e2e.small_task import BUGGY, FIXED, LISTED
from tests.fakes.staging import small_task
from tests.judge.conftest import FIX, HALF, SLOW, OpenJudge, own_threads, patch_to
from tests.patience import HANG_SECONDS, wait_until

pytestmark = pytest.mark.full


@pytest.mark.parametrize(
    ("patch", "reason", "reward", "share"),
    [
        (FIX, None, 1.0, 1.0),
        (HALF, FailureReason.TESTS_FAILED, 0.0, 0.5),
        ("", FailureReason.TESTS_FAILED, 0.0, 0.0),
        ("no patch \udc80", FailureReason.TOOL_ERROR, 0.0, 0.0),
        (patch_to("import nothing_like_it\n"), FailureReason.INTERNAL_ERROR, 0.0, 0.0),
    ],
    ids=["fix", "half", "empty", "no patch", "broken"],
)
def test_a_change_gets_the_verdict_and_the_reward_of_its_attempt(
    open_judge: OpenJudge,
    task: Task,
    patch: str,
    reason: FailureReason | None,
    reward: float,
    share: float,
) -> None:
    judge = open_judge()
    verdict = judge.score(task, patch=patch).result()
    assert (verdict.reason, verdict.reward, verdict.retryable) == (reason, reward, False), verdict
    assert verdict.resolved is (reason is None)
    assert verdict.with_kind(RewardKind.FIXED_SHARE).reward == share
    assert verdict.folder is not None
    record = json.loads((judge.folder / verdict.folder / "record.json").read_text())
    assert record["failure_reason"] == reason
    assert (verdict.run_id, verdict.attempt) == (record["run_id"], record["attempt"])


def test_the_verdict_says_how_each_test_ended(open_judge: OpenJudge, task: Task) -> None:
    verdict = open_judge(reward="fixed-share").score(task, patch=HALF).result()
    assert (verdict.fixed, verdict.to_fix, verdict.regressed) == (1, 2, 0)
    assert verdict.reward == 0.5
    assert [verdict.tests[test] for test in LISTED] == [CaseOutcome.FAILED, CaseOutcome.PASSED]


def test_a_share_is_lost_with_a_test_that_passed_before(open_judge: OpenJudge, task: Task) -> None:
    broken = BUGGY.replace("sum(prices[1:])", "sum(prices[1:]) or sum(prices)")
    broken = broken.replace("min(prices)", "max(prices)")
    verdict = open_judge(reward="fixed-share").score(task, patch=patch_to(broken)).result()
    assert (verdict.fixed, verdict.regressed, verdict.reward) == (1, 1, 0.0)


def test_a_fault_of_the_task_is_no_reward_of_zero(open_judge: OpenJudge, tmp_path: Path) -> None:
    broken = small_task(tmp_path / "broken", setup='commands = ["exit 3"]')
    verdict = open_judge().score(broken, patch=FIX).result()
    assert (verdict.reason, verdict.fault) == (FailureReason.SETUP_FAILED, Fault.TASK)
    assert verdict.reward is None
    assert not verdict.retryable


def write_fixed(folder: Path, task: Task) -> Path:
    """The task's repository with the fix, as an agent leaves it."""
    for path in (task.folder / "repo").rglob("*"):
        if path.is_file() and ".git" not in path.parts:
            target = folder / path.relative_to(task.folder / "repo")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    (folder / "basket.py").write_text(FIXED)
    return folder


def test_a_tree_is_judged_like_a_patch(open_judge: OpenJudge, task: Task, tmp_path: Path) -> None:
    tree = write_fixed(tmp_path / "tree", task)
    verdict = open_judge().score(task, tree=tree).result()
    assert verdict.resolved, verdict


def test_what_a_tree_lacks_is_removed(open_judge: OpenJudge, task: Task, tmp_path: Path) -> None:
    tree = write_fixed(tmp_path / "tree", task)
    (tree / "basket.py").unlink()
    (tree / "basket").mkdir()
    (tree / "basket" / "__init__.py").write_text(FIXED)
    (tree / "link.py").symlink_to("basket/__init__.py")
    judge = open_judge()
    verdict = judge.score(task, tree=tree).result()
    assert verdict.resolved, verdict
    patch = (judge.folder / str(verdict.folder) / "patch.diff").read_text()
    assert "diff --git a/basket.py b/basket.py\ndeleted file mode 100644" in patch
    (record,) = RunStore.open(judge.folder).latest()
    assert any("link.py" in finding.where for finding in record.findings)  # links are not judged


def test_equal_changes_are_judged_once(
    provider: SandboxProvider, task: Task, tmp_path: Path
) -> None:
    options = RunOptions(runs_dir=tmp_path / "runs", cache_dir=default_cache_dir())
    own = patch_to(f"# {tmp_path}\n{FIXED}")  # no other test has its verdict
    with Judge(sandbox=provider, jobs=2, options=options) as judge:
        first, second = [judge.score(task, patch=own) for _ in range(2)]
        assert first.result() == second.result()
        third = judge.score(task, patch=own).result()
        assert third.from_cache
        assert third.replace(from_cache=False) == first.result()
        fresh = judge.score(task, patch=own, fresh=True).result()
        assert (first.result().attempt, fresh.attempt, fresh.from_cache) == (1, 2, False)
        assert len(read_run(judge.folder).summaries) == 2
    with Judge(sandbox=provider, reward="fixed-share", options=options) as later:
        assert later.score(task, patch=own).result().from_cache
        assert not list(later.folder.glob("attempts/*"))


def test_the_run_can_be_read_like_any_other(
    open_judge: OpenJudge, task: Task, provider: SandboxProvider
) -> None:
    judge = open_judge()
    verdicts = [judge.score(task, patch=patch).result() for patch in (FIX, HALF)]
    folder = judge.folder
    judge.close()
    configuration = RunStore.open(folder).configuration()
    assert (configuration.agent, configuration.attempts) == ("judge", 2)
    assert [entry.id for entry in configuration.tasks] == [task.id]
    assert configuration.ending is RunEnding.FINISHED
    records = RunStore.open(folder).latest()
    assert [record.resolved for record in records] == [each.resolved for each in verdicts]
    usual = run_attempt(
        task, "oracle", sandbox=provider, options=RunOptions(runs_dir=folder.parent)
    )
    assert usual.tests == records[0].tests


def test_urgent_changes_come_first(open_judge: OpenJudge, task: Task) -> None:
    judge = open_judge(jobs=1)
    judge.score(task, patch=FIX).result()  # prepares the task
    blocking = judge.score(task, patch=SLOW)
    wait_until(lambda: len(list(judge.folder.glob("attempts/*/*"))) == 2)
    later = [judge.score(task, patch=HALF, fresh=True, priority=number) for number in (0, 2, 1)]
    wait_until(lambda: judge.waiting == 3)
    blocking.cancel()
    assert [each.result().attempt for each in later] == [5, 3, 4]


def test_a_deadline_gives_a_verdict_without_a_reward(open_judge: OpenJudge, task: Task) -> None:
    judge = open_judge()
    verdict = judge.score(task, patch=SLOW, deadline=1.0).result(HANG_SECONDS)
    assert (verdict.reward, verdict.detail) == (None, DEADLINE_DETAIL)
    assert (verdict.reason, verdict.retryable) == (FailureReason.INTERRUPTED, True)
    wait_until(lambda: judge.running == 0)
    (record,) = RunStore.open(judge.folder).latest()
    assert record.failure_reason is FailureReason.INTERRUPTED
    assert judge.score(task, patch=FIX).result().resolved


def test_whoever_gives_up_leaves_the_verdict_to_the_others(
    open_judge: OpenJudge, task: Task
) -> None:
    judge = open_judge(use_verdicts=True)
    own = patch_to(f"# {judge.folder}\n{FIXED}")
    impatient, patient = (judge.score(task, patch=own) for _ in range(2))
    assert impatient.cancel()
    assert patient.result().resolved
    with pytest.raises(CancelledError):
        impatient.result()


def test_a_cancelled_scoring_is_cleaned_up(open_judge: OpenJudge, task: Task) -> None:
    judge = open_judge()

    async def cancelled() -> None:
        scoring = asyncio.ensure_future(judge.score(task, patch=SLOW))
        await asyncio.to_thread(wait_until, lambda: judge.running == 1)
        scoring.cancel()
        with pytest.raises(asyncio.CancelledError):
            await scoring

    asyncio.run(cancelled())
    wait_until(lambda: judge.running == 0)
    judge.close()
    assert not find_dead_orphans(default_cache_dir())


def test_the_end_of_a_judge_cancels_what_still_runs(open_judge: OpenJudge, task: Task) -> None:
    judge = open_judge(jobs=1)
    running, waiting = judge.score(task, patch=SLOW), judge.score(task, patch=HALF)
    wait_until(lambda: judge.running == 1 and judge.waiting == 1)
    folder = judge.folder
    judge.close()
    for scoring in (running, waiting):
        with pytest.raises(CancelledError):
            scoring.result(0)
    assert RunStore.open(folder).configuration().ending is RunEnding.INTERRUPTED
    with pytest.raises(UsageError, match="the judge is not open"):
        judge.score(task, patch=FIX)


def test_what_was_not_accepted_yet_is_cancelled_at_the_end(
    open_judge: OpenJudge, task: Task
) -> None:
    judge = open_judge(jobs=1)
    scorings = [judge.score(task, patch=f"{number}") for number in range(500)]
    judge.close()
    assert all(scoring.done() for scoring in scorings)


PATCHES = [FIX, HALF, "", FIX, "no patch"]
REWARDS = [1.0, 0.0, 0.0, 1.0, 0.0]


def test_many_changes_are_scored_as_they_end(open_judge: OpenJudge, task: Task) -> None:
    judge = open_judge()
    submissions = [Submission(task=task, patch=patch) for patch in PATCHES]
    found = dict(judge.score_many(submissions, ahead=2))
    assert [found[position].reward for position in range(len(PATCHES))] == REWARDS


def test_many_changes_are_scored_in_a_loop(open_judge: OpenJudge, task: Task) -> None:
    judge, taken = open_judge(), []

    async def source() -> AsyncIterator[Submission]:
        for patch in PATCHES:
            taken.append(patch)
            yield Submission(task=task, patch=patch)

    async def collect() -> dict[int, float | None]:
        found, most = {}, 0
        async for position, verdict in judge.score_many(source(), ahead=1):
            found[position] = verdict.reward
            most = max(most, len(taken) - len(found))
        assert most <= 2  # one runs, and one waits to be submitted
        return found

    assert asyncio.run(collect()) == dict(enumerate(REWARDS))


def test_a_source_is_only_read_as_far_as_verdicts_are_consumed(
    open_judge: OpenJudge, task: Task
) -> None:
    judge, taken = open_judge(), []

    def source():
        while True:
            taken.append(True)
            yield Submission(task=task, patch="")

    verdicts = iter(judge.score_many(source(), ahead=3))
    next(verdicts)
    assert len(taken) == 3
    verdicts.close()
    wait_until(lambda: judge.running == 0)


def test_a_wrong_task_is_an_error_of_its_scoring_only(
    open_judge: OpenJudge, task: Task, tmp_path: Path
) -> None:
    judge = open_judge()
    with pytest.raises(InputError, match="expected a task"):
        judge.score(tmp_path / "missing", patch=FIX).result()
    assert judge.score(str(task.folder), patch=FIX).result().resolved


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "expected a patch or a tree, found neither"),
        ({"patch": 3}, "patch: expected a path, text or bytes, found 3"),
        ({"tree": []}, r"tree: expected a path, text or bytes, found \[\]"),
        ({"patch": "", "tree": "."}, "expected a patch or a tree, found both"),
    ],
)
def test_a_scoring_has_one_change(
    open_judge: OpenJudge, task: Task, arguments: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        open_judge().score(task, **arguments).result()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reward": "two"}, "reward: expected one of resolved, fixed-share, found 'two'"),
        ({"jobs": 0}, "jobs: 0 is not above 0"),
        ({"sandbox": "process"}, "allow_unsandboxed=True"),
    ],
)
def test_wrong_arguments_are_refused(
    open_judge: OpenJudge, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        open_judge(**arguments)


def test_threads_may_share_a_judge(open_judge: OpenJudge, task: Task) -> None:
    judge, found = open_judge(), []

    def score(patch: str) -> None:
        found.append(judge.score(task, patch=patch).result().reward)

    threads = [Thread(target=score, args=[patch]) for patch in PATCHES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(REWARDS)


def test_a_waiting_scoring_takes_no_thread(open_judge: OpenJudge, task: Task) -> None:
    judge = open_judge(jobs=1)
    blocking = judge.score(task, patch=SLOW)
    wait_until(lambda: judge.running == 1)
    waiting = [judge.score(task, patch=f"{number}") for number in range(200)]
    wait_until(lambda: judge.waiting == 200)
    assert own_threads() == {"attempt": 1, "judge": 1, "judge-intake": 1}
    for each in (*waiting, blocking):
        each.cancel()
    wait_until(lambda: judge.running == 0 and judge.waiting == 0)
