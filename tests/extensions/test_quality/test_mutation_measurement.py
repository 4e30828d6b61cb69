"""Real mutants of the small task in real sandboxes."""

from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from threading import Event

import pytest

from agentbench.core.files import FileContent
from agentbench.errors import InputError, RunCancelled, SandboxError
from agentbench.extensions.test_quality.mutation_measurement import (
    MutationScoreSettings,
    fixed_files,
    measure,
    mutant_runner_for,
    reference_change,
    why_no_mutants,
)
from agentbench.integrity.protection import JudgedChange
from agentbench.runs.options import RunOptions
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.tasks.loading import load_task
from agentbench.tasks.task import AnswerKey
from agentbench.validation.mutation_results import MutantOutcome, MutationScope
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN, LISTED, VISIBLE, SmallTask, patch_of
from tests.fakes.staging import Desk, local_provider, mirrors, prepare, small_task, staged
from tests.patience import with_growing_limit

pytestmark = pytest.mark.full

TOTAL = BUGGY[BUGGY.index("def total") : BUGGY.index("\n\ndef cheapest")]
SUMMED = BUGGY.replace(
    TOTAL,
    """\
def total(prices):
    result = 0
    for price in prices:
        result += price
    return result
""",
)
LOOP = BUGGY.replace(
    TOTAL,
    """\
def total(prices):
    result, at = 0, 0
    while at < len(prices):
        result += prices[at]
        at += 1
    return result
""",
)
"""A fix of which some mutants do not end."""
WEAK = """\
import basket


def test_every_price_counts():
    assert basket.total([1, 2, 3]) > 5


def test_one_price_is_the_total():
    assert basket.total([5]) >= 5
"""


class Faulty:
    """A provider whose sandboxes cannot be made for a while."""

    def __init__(self, inner, refused):
        self._inner = inner
        self._refused = refused
        self.opened = 0

    def __getattr__(self, name):
        return getattr(self._inner, name)

    @contextmanager
    def open(self, source, **options):
        self.opened += 1
        if self.opened in self._refused:
            raise SandboxError("the engine is away")
        with self._inner.open(source, **options) as sandbox:
            yield sandbox


def settings(provider=None, **changes):
    options = RunOptions(sandbox=provider or local_provider(), jobs=2)
    return MutationScoreSettings(options=options, cancel=Event(), **changes)


def measured(task, how=None):
    (strength,) = measure([task], how or settings(), lambda *_told: None)
    return strength


def with_solution(folder, after, **changes):
    task = small_task(folder, **changes)
    (folder / "solution.patch").write_text(patch_of("basket.py", BUGGY, after))
    key = task.answer_key.replace(solution_patch=(folder / "solution.patch").read_bytes())
    return task.replace(answer_key=key)


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    task = small_task(tmp_path_factory.mktemp("clean") / "task")
    return task, measured(task)


def test_strong_tests_kill_all_mutants(tmp_path):
    def measured_within(seconds):
        folder = tmp_path / f"strong-{seconds}"
        task, reported = with_solution(folder, LOOP, test_timeout_s=seconds), []
        (strength,) = measure([task], settings(), lambda task, _strength: reported.append(task.id))
        assert reported == [folder.name]
        return strength, seconds

    strength, seconds = with_growing_limit(
        measured_within, lambda made: made[0].why_not == "", limits=(4, 12, 60)
    )
    assert strength.scope is MutationScope.FUNCTIONS
    assert strength.survivors == ()
    endless = strength.of(MutantOutcome.TIMED_OUT)
    assert "at += 1" in {one.change.removed for one in endless}
    assert {one.detail for one in endless} == {f"still running after {seconds} s"}
    assert strength.percent == 100
    assert strength.total == len(strength.mutants) == strength.made


def test_survivors_of_weak_tests_are_named(tmp_path):
    unseen = {**SmallTask().files, "tests/test_basket.py": "def test_nothing():\n    pass\n"}
    weak = measured(with_solution(tmp_path / "weak", SUMMED, hidden=WEAK, files=unseen))
    (passed,) = weak.survivors
    assert (passed.change.path, passed.change.line) == ("basket.py", 5)
    assert (passed.change.removed, passed.change.added) == ("result = 0", "result = 1")
    assert weak.killed == weak.total - 1
    assert weak.total == len(weak.mutants) == weak.made


def test_unimportable_mutant_counts_as_neither(tmp_path):
    after = FIXED.replace("def total", "LIMIT = [9][0]\n\n\ndef total")
    strength = measured(with_solution(tmp_path / "broken", after))
    (broken,) = strength.of(MutantOutcome.BROKEN)
    assert broken.change.added == "LIMIT = [9][1]"
    assert strength.total == len(strength.mutants) - 1


def test_sandbox_that_fails_once_is_tried_again(clean):
    task, without_faults = clean
    provider = Faulty(local_provider(), {4, 6})  # after set-up: baseline, reference, mutants
    strength = measured(task, settings(provider))
    assert strength.of(MutantOutcome.NOT_JUDGED) == ()
    assert [one.outcome for one in strength.mutants] == [
        one.outcome for one in without_faults.mutants
    ]


def test_lost_mutant_is_not_killed(clean):
    task, _ = clean
    provider = Faulty(local_provider(), range(3, 1000))
    strength = measured(task, settings(provider))
    assert {one.outcome for one in strength.mutants} == {MutantOutcome.NOT_JUDGED}
    assert strength.percent is None
    assert all(one.detail == "the engine is away" for one in strength.mutants)


def test_task_without_a_solution_is_named(tmp_path):
    task = small_task(tmp_path / "task")
    key = task.answer_key.replace(solution_patch=b"")
    strength = measured(task.replace(answer_key=key))
    assert strength.why_not == "there is no reference solution"
    assert strength.percent is None


def test_solution_without_python_is_named(tmp_path):
    files = {**SmallTask().files, "prices.txt": "1\n"}
    task = small_task(tmp_path / "task", files=files)
    patch = patch_of("prices.txt", "1\n", "2\n").encode()
    key = task.answer_key.replace(solution_patch=patch)
    strength = measured(task.replace(answer_key=key))
    assert strength.why_not == "the reference solution has nothing to change in Python"


def test_solution_that_does_not_pass_is_no_measure(tmp_path):
    wrong = with_solution(tmp_path / "task", BUGGY.replace("prices[1:]", "prices[2:]"))
    strength = measured(wrong)
    assert strength.why_not.startswith("the reference solution does not pass: tests/test_hidden.py")


def test_task_that_cannot_be_prepared_is_named(tmp_path):
    task = small_task(tmp_path / "task", setup='commands = ["false"]')
    assert measured(task).why_not.startswith("task cannot be prepared: ")


def test_no_more_than_asked_are_tried(tmp_path):
    task = with_solution(tmp_path / "task", SUMMED)
    strength = measured(task, settings(most=2, seed=3))
    assert len(strength.mutants) == 2 < strength.made
    assert strength.seed == 3


def test_without_a_cache_nothing_is_left(tmp_path):
    task = small_task(tmp_path / "task")
    how = settings(most=1)
    cache = tmp_path / "cache"
    options = how.options.replace(use_cache=False, cache_dir=cache)
    strength = measured(task, replace(how, options=options))
    assert strength.total == 1
    assert not list(cache.glob("prepared/*/*"))


def test_cancelled_measurement_raises(tmp_path):
    task = small_task(tmp_path / "task")
    how = settings()
    provider = Faulty(local_provider(), ())
    inner = provider.open

    @contextmanager
    def stopping(source, **options):
        if provider.opened >= 2:
            how.cancel.set()
        with inner(source, **options) as sandbox:
            yield sandbox

    provider.open = stopping
    options = how.options.replace(sandbox=provider)
    with pytest.raises(RunCancelled):
        measured(task, replace(how, options=options))


SCRIPT = """\
#!/bin/sh
if python -c 'import basket; assert basket.total([1, 2, 3]) == 6 == basket.total([6])'
then echo 1 > /logs/verifier/reward.txt
else echo 0 > /logs/verifier/reward.txt
fi
"""


@pytest.mark.docker
def test_script_judges_mutants_as_it_judges_attempts(tmp_path):
    folder = SmallTask(hidden="").write(tmp_path)
    (folder / "task.toml").write_text(
        'schema_version = 1\ntitle = "x"\n[repo]\npath = "repo"\n[verifier]\ntimeout_s = 60\n'
    )
    (folder / "solution.patch").write_text(patch_of("basket.py", BUGGY, SUMMED))
    (folder / "tests").mkdir()
    (folder / "tests" / "test.sh").write_text(SCRIPT)
    options = RunOptions(sandbox=DockerProvider.connect(), jobs=2, use_cache=False)
    how = MutationScoreSettings(options=options, cancel=Event(), most=2)
    strength = measured(load_task(folder, mirrors=mirrors()), how)
    assert strength.why_not == ""
    assert strength.survivors == ()
    assert strength.percent == 100
    assert {one.detail for one in strength.mutants} == {"reward 0 is not above 0"}


EXTRA = """

def test_nobody_asks_for_this():
    assert basket.cheapest([2, 1]) == 1
"""


def change_to(text):
    file = FileContent(content=text.encode(), executable=False)
    return JudgedChange(files={PurePosixPath("basket.py"): file}, emptied=(), dropped=())


@pytest.fixture
def judged(tmp_path):
    def judged(task, *texts, reference=FIXED):
        with staged(task, local_provider(), Desk(tmp_path)) as context:
            prepare(context)
            judge = mutant_runner_for(context.ready, change_to(reference))
            if isinstance(judge, str):
                return judge
            return [judge.run(change_to(text)) for text in texts]

    return judged


def ended(verdicts):
    return [verdict.outcome for verdict in verdicts]


def test_outcomes_of_mutants_are_distinguished(judged, tmp_path):
    texts = (
        FIXED.replace("sum(prices)", "sum(list(prices))"),
        FIXED.replace("sum(prices)", "sum(prices) + 1"),
        FIXED.replace("return sum(prices)", "while True: pass"),
        f"{FIXED}\nraise RuntimeError('at import')\n",
        f"{FIXED}\nimport os\nos._exit(0)\n",
    )

    def judged_within(seconds):
        task = small_task(tmp_path / f"task-{seconds}", test_timeout_s=seconds)
        return judged(task, *texts), seconds

    def only_the_endless_one_hangs(made):
        return not isinstance(made[0], str) and ended(made[0]).count(MutantOutcome.TIMED_OUT) == 1

    (right, wrong, endless, broken, gone), seconds = with_growing_limit(
        judged_within, only_the_endless_one_hangs, limits=(4, 12, 60)
    )
    assert (right.outcome, right.detail) == (MutantOutcome.SURVIVED, "")
    assert wrong.outcome is MutantOutcome.KILLED
    assert wrong.detail.startswith("tests/test_")
    assert (endless.outcome, endless.detail) == (
        MutantOutcome.TIMED_OUT,
        f"still running after {seconds} s",
    )
    assert broken.outcome is MutantOutcome.BROKEN
    assert gone.outcome is MutantOutcome.BROKEN


def test_mutant_past_a_limit_is_killed(judged, tmp_path):
    task = small_task(tmp_path / "task", environment="disk_mib = 64")
    hungry = (
        # Each file is below what one may have: together they are too much.
        f"{FIXED}\nimport itertools\nfor n in itertools.count():\n"
        "    with open(f'big{n}', 'wb') as file:\n        file.write(bytes(8 << 20))\n"
    )
    (one,) = judged(task, hungry)
    assert one.outcome is MutantOutcome.KILLED, one.detail


def test_undecisive_test_kills_no_mutant(judged, tmp_path):
    hidden = HIDDEN.replace("def test_every", EXTRA.strip() + "\n\n\ndef test_every", 1)
    task = small_task(tmp_path / "task", hidden=hidden, tests="pass_to_pass = []")
    unasked = FIXED.replace("min(prices)", "max(prices)")
    spared, killed = judged(task, unasked, unasked.replace("sum(prices)", "0"))
    assert spared.outcome is MutantOutcome.SURVIVED
    assert killed.outcome is MutantOutcome.KILLED
    assert LISTED[0] in killed.detail


def test_failing_reference_gives_no_score(judged, tmp_path):
    why = judged(small_task(tmp_path / "task"), reference=BUGGY)
    assert why.startswith("the reference solution does not pass: tests/test_hidden.py::")


def with_patch(task, patch):
    key = task.answer_key.replace(solution_patch=patch.encode())
    return task.replace(answer_key=key)


@pytest.fixture
def changed(tmp_path):
    def changed(task):
        with staged(task, local_provider(), Desk(tmp_path)) as context:
            prepare(context)
            change = reference_change(context.ready)
            return change, fixed_files(change, context.prepared)

    return changed


def test_files_of_a_fix_are_known_before_and_after(changed, tmp_path):
    _, (file,) = changed(small_task(tmp_path / "task"))
    assert file.path == PurePosixPath("basket.py")
    assert (file.before.decode(), file.after.decode()) == (BUGGY, FIXED)


def test_only_changeable_python_is_mutated(changed, tmp_path):
    patch = "".join(
        (
            patch_of("basket.py", BUGGY, FIXED),
            patch_of("tests/test_basket.py", VISIBLE, VISIBLE + "\n"),
            patch_of("notes.txt", "", "fixed\n"),
        )
    )
    change, files = changed(with_patch(small_task(tmp_path / "task"), patch))
    assert sorted(map(str, change.files)) == ["basket.py", "notes.txt"]
    assert [file.path.name for file in files] == ["basket.py"]


def test_patch_that_does_not_fit_is_refused(tmp_path):
    task = small_task(tmp_path / "task")
    with staged(task, local_provider(), Desk(tmp_path)) as context:
        prepare(context)  # as if that had been in the cache: it looks at the patch, too
        context.task = with_patch(task, patch_of("basket.py", "x = 1\n", "x = 2\n"))
        with pytest.raises(
            InputError, match=r"solution\.patch: does not apply to the base commit: "
        ):
            reference_change(context.ready)


def test_patch_is_needed_and_a_repository_that_it_fits(tmp_path):
    task = small_task(tmp_path / "task")
    assert why_no_mutants(task) == ""
    without = task.replace(answer_key=AnswerKey())
    assert why_no_mutants(without) == "there is no reference solution"
    source = task.source.replace(workdir="/app")
    image = task.replace(source=source)
    assert why_no_mutants(image).startswith("the work is in the image")
