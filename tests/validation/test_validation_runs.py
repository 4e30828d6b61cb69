import shlex
from pathlib import Path

import pytest

from agentbench.runs.options import RunOptions
from agentbench.validation.task_proof import run_proofs, run_to_end
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN, patch_of
from tests.fakes.staging import local_provider, small_task
from tests.validation.test_task_validation import follow


def options_of(tmp_path):
    return RunOptions(sandbox=local_provider(), runs_dir=tmp_path / "runs")


def test_each_task_is_tried_by_the_oracle_and_by_nobody(tmp_path):
    tasks = {tmp_path / name: small_task(tmp_path / name) for name in "ab"}
    options = options_of(tmp_path)
    shown = run_proofs(tasks, options, follow)
    assert [(path.name, one.runs, one.faults, one.flaky) for path, one in shown.items()] == [
        ("a", 2, (), ()),
        ("b", 2, (), ()),
    ]
    assert all(one.sandbox == local_provider().name for one in shown.values())
    assert not any(one.undecided for one in shown.values())
    (validation,) = options.runs_dir.iterdir()
    assert validation.name == "validation"
    names = sorted(folder.name for folder in validation.iterdir())
    assert [name.rpartition("-")[2] for name in names] == ["noop", "oracle"]
    assert all(name.startswith("validate-") for name in names)


def test_what_the_infrastructure_lost_decides_nothing(tmp_path):
    lost = small_task(tmp_path / "lost", environment="memory_mib = 64\ndisk_mib = 64\nfiles = 1000")
    (tmp_path / "lost" / "tests.patch").write_text("")
    hidden = small_task(tmp_path / "big", hidden=f"DATA = '''{'x' * (80 << 20)}'''\n")
    big = hidden.replace(environment=lost.environment)
    options = options_of(tmp_path).replace(retries=0)
    shown = run_proofs({tmp_path / "big": big}, options, follow)
    records = run_to_end([big], options.replace(agent="noop"), follow).records
    (one,) = shown.values()
    assert one.undecided == any(record.fault == "infrastructure" for record in records)
    assert one.faults


def test_records_are_those_of_the_task(tmp_path):
    tasks = [small_task(tmp_path / name) for name in "ab"]
    made = run_to_end(tasks, options_of(tmp_path).replace(agent="oracle"), follow)
    assert [record.task_id for record in made.of(tasks[1])] == ["b"]


WRONG_FIX = patch_of("basket.py", BUGGY, FIXED.replace("min(", "max("))
COVERED = """diff --git a/tests/helper.py b/tests/helper.py
new file mode 100644
--- /dev/null
+++ b/tests/helper.py
@@ -0,0 +1 @@
+X = 1
"""


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (  # a regression
            {"solution": WRONG_FIX},
            [
                "tests/test_basket.py::test_the_cheapest_is_found passed before the change and "
                "fails now (a regression).",
                "assertion: tests/test_basket.py:5: assert basket.cheapest([3, 1, 2]) == 1",
                "expected: 1",
                "actual: 3",
            ],
        ),
        (  # a test to fix that the solution does not fix
            {"hidden": HIDDEN.replace("== 6", "== 7")},
            [
                "tests/test_hidden.py::test_every_price_counts still fails.",
                "assertion: tests/test_hidden.py:5: assert basket.total([1, 2, 3]) == 7",
                "expected: 7",
                "actual: 6",
            ],
        ),
        (  # a file of the solution that the task protects
            {"solution": COVERED},
            [
                "the reference solution's change to tests/helper.py is not judged: a test of the "
                "task; [tests] paths or protected cover it",
            ],
        ),
        (
            {"tests": 'pass_to_pass = "baseline"\nprotected = ["basket.py"]'},
            [
                "the reference solution's change to basket.py is not judged: protected by the "
                "task; [tests] paths or protected cover it",
            ],
        ),
        ({"setup": 'commands = ["echo no wheel; exit 3"]'}, ["last output: no wheel"]),
    ],
)
def test_an_invalid_task_is_explained_with_its_test_and_its_run(tmp_path, changes, lines):
    task = small_task(tmp_path / "a", **changes)
    (proof,) = run_proofs({tmp_path / "a": task}, options_of(tmp_path), follow).values()
    assert set(lines) <= set(proof.explanation)
    shown = proof.explanation[-1].removeprefix("its run: ")
    words = shlex.split(shown)
    assert words[:2] == ["agentbench", "show"]
    assert (Path(words[2]) / "attempts" / words[3] / "1").is_dir()
