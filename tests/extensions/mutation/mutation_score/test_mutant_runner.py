from pathlib import PurePosixPath

import pytest

from agentbench.core.files import FileContent
from agentbench.extensions.mutation.mutation_measurement import mutant_runner_for
from agentbench.integrity.protection import JudgedChange
from agentbench.validation.mutation_results import MutantOutcome
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN, LISTED
from tests.fakes.staging import Desk, local_provider, prepare, small_task, staged
from tests.patience import with_growing_limit

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


def test_each_way_to_end_is_told_from_the_others(judged, tmp_path):
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


def test_what_uses_more_than_a_sandbox_has_is_killed_though_no_test_ran(judged, tmp_path):
    task = small_task(tmp_path / "task", environment="disk_mib = 64")
    hungry = (
        # Each file is below what one may have: together they are too much.
        f"{FIXED}\nimport itertools\nfor n in itertools.count():\n"
        "    with open(f'big{n}', 'wb') as file:\n        file.write(bytes(8 << 20))\n"
    )
    (one,) = judged(task, hungry)
    assert one.outcome is MutantOutcome.KILLED, one.detail


def test_a_test_that_decides_nothing_kills_nothing(judged, tmp_path):
    hidden = HIDDEN.replace("def test_every", EXTRA.strip() + "\n\n\ndef test_every", 1)
    task = small_task(tmp_path / "task", hidden=hidden, tests="pass_to_pass = []")
    unasked = FIXED.replace("min(prices)", "max(prices)")
    spared, killed = judged(task, unasked, unasked.replace("sum(prices)", "0"))
    assert spared.outcome is MutantOutcome.SURVIVED
    assert killed.outcome is MutantOutcome.KILLED
    assert LISTED[0] in killed.detail


def test_a_reference_that_does_not_pass_judges_nobody(judged, tmp_path):
    why = judged(small_task(tmp_path / "task"), reference=BUGGY)
    assert why.startswith("the reference solution does not pass: tests/test_hidden.py::")
