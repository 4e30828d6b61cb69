import tomllib

import pytest

from agentbench.extensions.swebench.environments import EnvironmentSources
from agentbench.extensions.swebench.importing import ImportSelection
from agentbench.extensions.swebench.located_tests import (
    locate_by_source,
    locate_tests,
    write_located_tests,
)
from agentbench.extensions.swebench.recipes import InstallRecipe, InstallRecipes
from agentbench.runs.options import RunOptions
from agentbench.scoring.evidence import CaseOutcome
from agentbench.tasks.dataset_rows import SwebenchOrigin, read_origin
from agentbench.tasks.mirror import Mirrors
from agentbench.validation.task_proof import DecidingTests
from tests.extensions.swebench.conftest import import_all
from tests.extensions.swebench.instances import REPO, Project, write_lines
from tests.fakes.staging import local_provider
from tests.fakes.unreliable_provider import UnreliableProvider
from tests.validation.test_task_validation import follow

pytestmark = pytest.mark.full

FILE = "tests/test_counting.py"
ENDING_TESTS = """\
diff --git a/tests/test_ending.py b/tests/test_ending.py
new file mode 100644
--- /dev/null
+++ b/tests/test_ending.py
@@ -0,0 +1,5 @@
+import os
+
+
+def test_ending():
+    os._exit(0)
"""


@pytest.fixture
def take(tmp_path):
    """Import an instance with some names of tests; gives its folder."""
    project = Project(tmp_path / "repos")

    def take(more_tests="", tests=None, base=None, **changes):
        if base is not None:
            base(project)
        changes["test_patch"], runner = project.test_patch + more_tests, {}
        if tests is not None:
            changes["test_patch"] = project.diff("tests/test_counting.py", tests)
            runner = {"runner": "unittest"}
        path = write_lines(tmp_path / "in.jsonl", project.instance(**changes))
        sources = EnvironmentSources(
            own=[InstallRecipes(recipe=(InstallRecipe(repo=REPO, install="", **runner),))]
        )
        choice = ImportSelection(out=tmp_path / "tasks", repos=tmp_path / "repos", sources=sources)
        imported = import_all(path, choice, Mirrors(tmp_path / "mirrors"))
        (folder,) = imported.written
        return folder

    return take


@pytest.fixture
def options(tmp_path):
    return RunOptions(
        sandbox=local_provider(), runs_dir=tmp_path / "runs", cache_dir=tmp_path / "cache"
    )


def listed(folder):
    tests = tomllib.loads((folder / "task.toml").read_text())["tests"]
    return tests["fail_to_pass"], tests["pass_to_pass"]


def test_truncated_names_become_node_ids(take, options):
    folder = take(
        FAIL_TO_PASS=[f"{FILE}::test_last[two", f"{FILE}::test_last[one]"],
        PASS_TO_PASS=["test_first", "[100%]"],
    )
    result = write_located_tests([folder], options, follow)
    assert (result.rejections, result.notes) == ((), ())
    assert listed(folder) == (
        [f"{FILE}::test_last[two items]", f"{FILE}::test_last[one]"],
        [f"{FILE}::test_first"],
    )
    assert read_origin(folder).node_ids == {
        f"{FILE}::test_last[two": (f"{FILE}::test_last[two items]",),
        "test_first": (f"{FILE}::test_first",),
        "[100%]": (),
    }


def test_name_without_fixed_test_rejects_the_task(take, options):
    folder = take(FAIL_TO_PASS=[f"{FILE}::test_last[three", "test_first"])
    (refusal,) = write_located_tests([folder], options, follow).rejections
    assert (refusal.instance, refusal.field) == ("Acme__counting-7", "FAIL_TO_PASS")
    assert refusal.what == (f"the reference patch fixes no test named '{FILE}::test_last[three'")
    assert not folder.exists()


def test_unknown_pass_to_pass_ids_do_not_count(take, options):
    gone = [f"{FILE}::test_gone_{number}" for number in range(5)]
    folder = take(PASS_TO_PASS=[*gone, f"{FILE}::test_first"])
    result = write_located_tests([folder], options, follow)
    assert result.rejections == ()
    assert result.notes == (
        "Acme__counting-7: 5 of 6 tests in PASS_TO_PASS did not run here with the reference "
        f"solution, and do not count: {gone[0]}, {gone[1]}, {gone[2]} and 2 more",
    )
    assert listed(folder) == ([f"{FILE}::test_last[one]"], [f"{FILE}::test_first"])
    origin = read_origin(folder)
    assert origin.node_ids == dict.fromkeys(gone, ())
    assert origin.left_out == dict.fromkeys(gone, "not run")


def write_untouched_files(project):
    """Commit test files that the test patch does not touch; three of their tests fail."""
    project.origin.write(
        "tests/test_old.py",
        "import pytest\nfrom counting import first\n\n\n"
        "def test_old():\n    assert first([3]) == 3\n\n\n"
        '@pytest.mark.parametrize("x", ["a b", "c"])\n'
        "def test_each(x):\n    assert first(x) == x[0]\n\n\n"
        "def test_asks_a_host():\n    raise OSError\n",
    )
    project.origin.write("tests/test_broken.py", "import gone\n\n\ndef test_x():\n    pass\n")
    project.base_commit = project.origin.commit()


OLD = "tests/test_old.py"


def test_pass_to_pass_ids_of_untouched_files_are_run_and_stay(take, options):
    names = [f"{OLD}::test_old", f"{OLD}::test_each[a", f"{OLD}::test_each[c]"]
    folder = take(base=write_untouched_files, PASS_TO_PASS=[*names, f"{FILE}::test_first"])
    result = write_located_tests([folder], options, follow)
    assert (result.rejections, result.notes) == ((), ())
    whole = [f"{OLD}::test_old", f"{OLD}::test_each[a b]", f"{OLD}::test_each[c]"]
    assert listed(folder)[1] == [*whole, f"{FILE}::test_first"]


def test_each_pass_to_pass_name_that_does_not_count_is_named_with_its_outcome(take, options):
    left_out = {
        f"{OLD}::test_asks_a_host": "failed",
        f"{OLD}::test_none": "not run",
        "tests/test_broken.py::test_x": "not collected",
        "tests/test_nowhere.py::test_x": "not run",
        "test_function_of_no_file": "not run",
    }
    folder = take(base=write_untouched_files, PASS_TO_PASS=[*left_out, f"{OLD}::test_old"])
    result = write_located_tests([folder], options, follow)
    assert read_origin(folder).left_out == left_out
    assert [note.partition("PASS_TO_PASS ")[2].partition(", and")[0] for note in result.notes] == [
        "fail here with the reference solution",
        "did not run here with the reference solution",
        "are in files that cannot be collected here with the reference solution",
    ]
    assert listed(folder) == ([f"{FILE}::test_last[one]"], [f"{OLD}::test_old"])


@pytest.mark.parametrize("name", [f"{OLD}::test_old", f"{OLD}::test_each[a"])
def test_fail_to_pass_names_of_untouched_files_that_pass_before_any_fix_are_kept(
    take, options, name
):
    folder = take(
        base=write_untouched_files, FAIL_TO_PASS=[name, f"{FILE}::test_last[one]"], PASS_TO_PASS=[]
    )
    result = write_located_tests([folder], options, follow)
    (note,) = result.notes
    assert note.endswith(f"pass here before any fix, and count as PASS_TO_PASS: {name}")
    (stored,) = listed(folder)[1]
    assert stored.startswith(name)


def test_names_of_unittest_in_untouched_modules_are_run_and_stay(take, options):
    def write(project):
        project.origin.write(
            "tests/test_old.py", UNITTESTS.replace("import first, last", "import first")
        )
        project.base_commit = project.origin.commit()

    folder = take(
        tests=UNITTESTS,
        base=write,
        FAIL_TO_PASS=["test_last (test_counting.Counting)"],
        PASS_TO_PASS=[
            "test_first (test_old.Counting)",
            "test_asks_a_host (tests.test_old.Counting)",
        ],
    )
    write_located_tests([folder], options, follow)
    assert listed(folder) == (
        [f"{FILE}::Counting::test_last"],
        ["tests/test_old.py::Counting::test_first"],
    )


def test_passing_test_to_fix_becomes_pass_to_pass(take, options):
    folder = take(FAIL_TO_PASS=[f"{FILE}::test_first", f"{FILE}::test_last[one]"], PASS_TO_PASS=[])
    result = write_located_tests([folder], options, follow)
    assert result.notes == (
        "Acme__counting-7: 1 of 2 tests in FAIL_TO_PASS pass here before any fix, and count as "
        f"PASS_TO_PASS: {FILE}::test_first",
    )
    assert listed(folder) == ([f"{FILE}::test_last[one]"], [f"{FILE}::test_first"])


def test_incomplete_run_changes_no_list(take, options):
    names = [f"{FILE}::test_gone", f"{FILE}::test_first"]
    folder = take(more_tests=ENDING_TESTS, PASS_TO_PASS=names)
    before = (folder / "task.toml").read_text()
    result = write_located_tests([folder], options, follow)
    assert (result.rejections, result.notes) == ((), ())
    assert (folder / "task.toml").read_text() == before


def test_lost_engine_rejects_no_instance(take, options):
    folder = take(FAIL_TO_PASS=["test_gone"])
    away = options.replace(sandbox=UnreliableProvider(), retries=0)
    result = write_located_tests([folder], away, follow)
    assert (result.rejections, result.notes) == ((), ())
    assert list(result.undecided) == [folder]
    assert result.undecided[folder]
    assert folder.exists()


@pytest.mark.parametrize("names", [["test_first"], ["test_gone", "test_last[one]"]])
def test_invalid_instance_keeps_its_lists(take, options, names):
    folder = take(FAIL_TO_PASS=[f"{FILE}::{name}" for name in names], PASS_TO_PASS=[])
    before = (folder / "task.toml").read_text()
    result = write_located_tests([folder], options, follow)
    assert (result.rejections, result.notes) == ((), ())
    assert (folder / "task.toml").read_text() == before


def test_a_task_that_does_not_load_is_refused_and_starts_no_run(take, options, tmp_path):
    folder = take(FAIL_TO_PASS=["test_last"])
    (folder / "instruction.md").unlink()
    (refusal,) = write_located_tests([folder], options, follow).rejections
    assert "instruction.md: is missing" in refusal.what
    assert not (tmp_path / "runs").exists()


FUNCTIONS = """\
diff --git a/tests/test_more.py b/tests/test_more.py
new file mode 100644
--- /dev/null
+++ b/tests/test_more.py
@@ -0,0 +1,14 @@
+import pytest
+
+
+def test_alone():
+    pass
+
+
+class TestCase:
+    def test_method(self):
+        pass
+
+    @pytest.mark.parametrize("x", [1])
+    def test_many(self, x):
+        pass
"""


def test_function_names_are_found_in_source(take, tmp_path):
    folder = take(
        FUNCTIONS,
        FAIL_TO_PASS=["test_method"],
        PASS_TO_PASS=["test_alone", "[100%]", f"{FILE}::test_first"],
    )
    assert locate_by_source([folder], Mirrors(tmp_path / "mirrors")) == []
    assert listed(folder) == (
        ["tests/test_more.py::TestCase::test_method"],
        ["tests/test_more.py::test_alone", f"{FILE}::test_first"],
    )
    assert read_origin(folder).node_ids["[100%]"] == ()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("test_many", "'test_many' is not the name of one function without parameters"),
        ("test_gone", "'test_gone' is not the name of one function without parameters"),
        (f"{FILE}::test_last[two", "is not the name of a function"),
    ],
)
def test_other_names_without_a_run_reject_the_task(take, tmp_path, name, why):
    folder = take(FUNCTIONS, FAIL_TO_PASS=[name])
    (refusal,) = locate_by_source([folder], Mirrors(tmp_path / "mirrors"))
    assert why in refusal.what
    assert refusal.what.endswith("import without --no-prove to find its tests by running them")
    assert not folder.exists()


def test_a_file_that_does_not_parse_here_names_no_functions(take, tmp_path):
    old = FUNCTIONS.replace("+    pass\n+\n+\n+class", "+    print 1\n+\n+\n+class")
    folder = take(old, FAIL_TO_PASS=["test_method"])
    (refusal,) = locate_by_source([folder], Mirrors(tmp_path / "mirrors"))
    assert "tests/test_more.py cannot be parsed" in refusal.what


def test_test_to_fix_is_not_in_pass_to_pass():
    origin = SwebenchOrigin(
        instance_id="x",
        repo="a/b",
        fail_to_pass=("t.py::a[x",),
        pass_to_pass=("t.py::a[x", "t.py::a[x z]"),
    )
    found = DecidingTests(fail_to_pass=("t.py::a[x y]",), pass_to_pass=("t.py::a[x z]",))
    final = dict.fromkeys(("t.py::a[x y]", "t.py::a[x z]"), CaseOutcome.PASSED)
    located = locate_tests(origin, found, final)
    assert located is not None
    assert located.fail_to_pass == ("t.py::a[x y]",)
    assert located.pass_to_pass == ("t.py::a[x z]",)
    assert located.unmatched == ()


UNITTESTS = """\
import unittest

from counting import first, last


class Counting(unittest.TestCase):
    def test_first(self):
        self.assertEqual(first([1, 2]), 1)

    def test_last(self):
        "The last of some."
        self.assertEqual(last([1, 2]), 2)

    def test_asks_a_host(self):
        raise OSError("no such host")
"""


def test_names_that_unittest_prints_become_node_ids(take, options):
    folder = take(
        tests=UNITTESTS,
        FAIL_TO_PASS=["The last of some.", "test_first (test_counting.Counting)"],
        PASS_TO_PASS=[
            "test_first (test_counting.Counting.test_first)",
            "test_asks_a_host (test_counting.Counting)",
            "test_gone (test_counting.Counting)",
        ],
    )
    result = write_located_tests([folder], options, follow)
    assert result.rejections == ()
    assert [note.partition(": ")[2] for note in result.notes] == [
        "1 of 3 tests in PASS_TO_PASS fail here with the reference solution, and do not count: "
        "test_asks_a_host (test_counting.Counting)",
        "1 of 3 tests in PASS_TO_PASS did not run here with the reference solution, and do not "
        "count: test_gone (test_counting.Counting)",
        "1 of 2 tests in FAIL_TO_PASS pass here before any fix, and count as PASS_TO_PASS: "
        "test_first (test_counting.Counting)",
    ]
    assert listed(folder) == (
        [f"{FILE}::Counting::test_last"],
        [f"{FILE}::Counting::test_first"],
    )
    origin = read_origin(folder)
    assert origin.ids_of("The last of some.") == (f"{FILE}::Counting::test_last",)
    assert origin.ids_of("test_gone (test_counting.Counting)") == ()


def test_a_printed_name_that_no_fixed_test_has_is_refused(take, options):
    folder = take(
        tests=UNITTESTS,
        FAIL_TO_PASS=["test_first (test_counting.Counting)"],
        PASS_TO_PASS=[],
    )
    (refusal,) = write_located_tests([folder], options, follow).rejections
    assert "fixes no test named 'test_first (test_counting.Counting)'" in refusal.what
    assert not folder.exists()
