"""Real mutants of the small task in real sandboxes."""

from contextlib import contextmanager
from dataclasses import replace
from threading import Event

import pytest

from agentbench.errors import RunCancelled, SandboxError
from agentbench.extensions.mutation.mutation_measurement import MutationScoreSettings, measure
from agentbench.runs.options import RunOptions
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.tasks.loading import load_task
from agentbench.validation.mutation_results import MutantOutcome, MutationScope
from tests.e2e.small_task import BUGGY, FIXED, SmallTask, patch_of
from tests.fakes.staging import local_provider, mirrors, small_task
from tests.patience import with_growing_limit

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
    """The small task with another reference solution."""
    task = small_task(folder, **changes)
    (folder / "solution.patch").write_text(patch_of("basket.py", BUGGY, after))
    key = task.answer_key.replace(solution_patch=(folder / "solution.patch").read_bytes())
    return task.replace(answer_key=key)


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """The small task, prepared, and what was measured of it where nothing went wrong."""
    task = small_task(tmp_path_factory.mktemp("clean") / "task")
    return task, measured(task)


def test_strong_tests_let_no_mutant_pass_and_an_endless_one_dies(tmp_path):
    def measured_within(seconds):
        folder = tmp_path / f"strong-{seconds}"
        task, told = with_solution(folder, LOOP, test_timeout_s=seconds), []
        (strength,) = measure([task], settings(), lambda task, _strength: told.append(task.id))
        assert told == [folder.name]
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


def test_weak_tests_let_mutants_pass_that_are_named(tmp_path):
    unseen = {**SmallTask().files, "tests/test_basket.py": "def test_nothing():\n    pass\n"}
    weak = measured(with_solution(tmp_path / "weak", SUMMED, hidden=WEAK, files=unseen))
    (passed,) = weak.survivors
    assert (passed.change.path, passed.change.line) == ("basket.py", 5)
    assert (passed.change.removed, passed.change.added) == ("result = 0", "result = 1")
    assert weak.killed == weak.total - 1
    assert weak.total == len(weak.mutants) == weak.made


def test_a_mutant_that_cannot_be_imported_counts_as_neither(tmp_path):
    after = FIXED.replace("def total", "LIMIT = [9][0]\n\n\ndef total")
    strength = measured(with_solution(tmp_path / "broken", after))
    (broken,) = strength.of(MutantOutcome.BROKEN)
    assert broken.change.added == "LIMIT = [9][1]"
    assert strength.total == len(strength.mutants) - 1


def test_a_sandbox_that_fails_once_is_tried_again(clean):
    task, without_faults = clean
    provider = Faulty(local_provider(), {4, 6})  # after set-up: baseline, reference, mutants
    strength = measured(task, settings(provider))
    assert strength.of(MutantOutcome.NOT_JUDGED) == ()
    assert [one.outcome for one in strength.mutants] == [
        one.outcome for one in without_faults.mutants
    ]


def test_what_an_engine_lost_is_never_killed(clean):
    task, _ = clean
    provider = Faulty(local_provider(), range(3, 1000))
    strength = measured(task, settings(provider))
    assert {one.outcome for one in strength.mutants} == {MutantOutcome.NOT_JUDGED}
    assert strength.percent is None
    assert all(one.detail == "the engine is away" for one in strength.mutants)


def test_a_task_without_a_solution_is_named(tmp_path):
    task = small_task(tmp_path / "task")
    key = task.answer_key.replace(solution_patch=b"")
    strength = measured(task.replace(answer_key=key))
    assert strength.why_not == "there is no reference solution"
    assert strength.percent is None


def test_a_solution_without_python_is_named(tmp_path):
    files = {**SmallTask().files, "prices.txt": "1\n"}
    task = small_task(tmp_path / "task", files=files)
    patch = patch_of("prices.txt", "1\n", "2\n").encode()
    key = task.answer_key.replace(solution_patch=patch)
    strength = measured(task.replace(answer_key=key))
    assert strength.why_not == "the reference solution has nothing to change in Python"


def test_a_solution_that_does_not_pass_is_no_measure(tmp_path):
    wrong = with_solution(tmp_path / "task", BUGGY.replace("prices[1:]", "prices[2:]"))
    strength = measured(wrong)
    assert strength.why_not.startswith("the reference solution does not pass: tests/test_hidden.py")


def test_a_task_that_cannot_be_prepared_is_named(tmp_path):
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


def test_what_is_cancelled_ends_with_the_interruption(tmp_path):
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


@pytest.mark.soak  # the script's test below measures in containers, too
@pytest.mark.docker
def test_containers_give_the_same(clean):
    task, here = clean
    options = RunOptions(sandbox=DockerProvider.connect(), jobs=2, use_cache=False)
    how = MutationScoreSettings(options=options, cancel=Event())
    there = measured(task, how)
    assert there.sandbox == "docker"
    assert [one.outcome for one in there.mutants] == [one.outcome for one in here.mutants]
    assert there.total > 0


SCRIPT = """\
#!/bin/sh
if python -c 'import basket; assert basket.total([1, 2, 3]) == 6 == basket.total([6])'
then echo 1 > /logs/verifier/reward.txt
else echo 0 > /logs/verifier/reward.txt
fi
"""


@pytest.mark.docker
def test_a_script_judges_mutants_as_it_judges_attempts(tmp_path):
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
