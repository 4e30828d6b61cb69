import pytest

from agentbench.validation.fairness_results import VariantKind
from agentbench.validation.stored_proof import read_proof
from tests.extensions.test_quality.test_fix_tests import (
    FIXED,
    HIDDEN,
    INSTRUCTION,
    OTHER,
    TYPE,
    applied,
    with_fairness,
    written,
)

pytestmark = pytest.mark.full


@pytest.fixture
def fix_tests(cli, sandbox, tmp_path):
    def fix_tests(folder, *arguments):
        where = ("--sandbox", sandbox, "--runs-dir", tmp_path / "runs")
        return cli("tasks", "fix-tests", folder, *where, *arguments)

    return fix_tests


@pytest.fixture
def validate(cli, sandbox, tmp_path):
    def validate(folder, *arguments):
        where = ("--sandbox", sandbox, "--runs-dir", tmp_path / "runs", "--repeat", "1")
        return cli("validate", folder, *where, "--quiet", *arguments)

    return validate


def test_patch_makes_tests_accept_another_right_fix(fix_tests, validate, tmp_path):
    folder, patch = with_fairness(written(tmp_path / "strict"), TYPE), tmp_path / "a.patch"
    result = fix_tests(folder, "--out", patch, "--check")
    assert result.code == 0, result.stderr
    assert result.stdout == ""
    assert "tests/test_hidden.py:6: only the stated part of the message is matched: " in (
        result.stderr
    )
    assert "tests/test_hidden.py:11: any sequence of these elements is accepted" in result.stderr
    assert "2 weaker assertions proposed, 0 without a proposal\n" in result.stderr
    assert "with the patch the task is valid\n" in result.stderr
    text = applied(folder, patch.read_text(), tmp_path / "tree")
    assert "match='a price must never be negative'):\n" in text
    assert "assert list(basket.cheap([3, 1, 9, 2], 3)) == [1, 2]\n" in text

    other = written(tmp_path / "other", fixed=OTHER)
    result = validate(other)
    assert "the reference solution ends in TESTS_FAILED: 2 of 4" in result.stdout
    with (other / "tests.patch").open("a") as file:
        file.write(patch.read_text())
    result = validate(other)
    assert result.code == 0, result.stdout


def test_measured_variants_give_the_patch_and_the_page(fix_tests, validate, tmp_path):
    folder, page, patch = written(tmp_path / "strict"), tmp_path / "page.md", tmp_path / "a.patch"
    result = validate(folder, "--fairness", "--record", "--report", page)
    assert result.code == 0, result.stderr
    rejected = {one.kind for one in read_proof(folder).fairness.rejected}
    assert rejected >= {VariantKind.MESSAGE, VariantKind.TYPE}
    assert "rejected by `tests/test_hidden.py::test_cheap_prices_are_found`" in page.read_text()
    result = fix_tests(folder, "--out", patch)
    assert "only messages are looked at" not in result.stderr
    for name, fixed in (("fixed", FIXED), ("other", OTHER)):
        relaxed = written(tmp_path / name, fixed=fixed)
        with (relaxed / "tests.patch").open("a") as file:
            file.write(patch.read_text())
        assert validate(relaxed).code == 0


def test_task_itself_is_not_changed(fix_tests, tmp_path):
    folder = with_fairness(written(tmp_path / "strict"), TYPE)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    result = fix_tests(folder, "--check")
    assert result.stdout.startswith("diff --git a/tests/test_hidden.py b/tests/test_hidden.py\n")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_messages_need_no_proof(fix_tests, tmp_path):
    result = fix_tests(written(tmp_path / "strict"))
    assert result.code == 0, result.stderr
    assert "only messages are looked at; measure them with: agentbench validate " in result.stderr
    assert result.stdout.count("\n+") == 2  # the head and one line
    assert "+    with pytest.raises(ValueError, match='a price must never be" in result.stdout
    assert "read the patch; --check validates a copy" in result.stderr


def test_proof_of_other_files_is_not_used(fix_tests, tmp_path):
    folder = with_fairness(written(tmp_path / "strict"), TYPE)
    (folder / "instruction.md").write_text(f"{INSTRUCTION}Do it.\n")
    result = fix_tests(folder)
    assert "list(" not in result.stdout
    assert "1 weaker assertion proposed" in result.stderr


def test_patch_that_breaks_the_task_fails_the_check(fix_tests, tmp_path):
    order = TYPE.replace(kind=VariantKind.LAYOUT, assertion="")
    hidden = HIDDEN.replace("== [1, 2]", "== [1, 2]\n    assert str(basket.cheap([4], 1)) == '[ ]'")
    folder = with_fairness(written(tmp_path / "strict", hidden), order)
    result = fix_tests(folder, "--check")
    assert result.code == 1, result.stderr
    assert "with the patch the task is INVALID\n" in result.stderr
    assert "the reference solution ends in TESTS_FAILED" in result.stderr


def test_fair_task_has_no_patch(fix_tests, tmp_path):
    hidden = HIDDEN.replace("^-1 was given, but a price must never be negative$", "never")
    result = fix_tests(written(tmp_path / "fair", hidden), "--check")
    assert result.code == 0, result.stderr
    assert result.stdout == ""
    assert result.stderr.endswith("0 weaker assertions proposed, 0 without a proposal\n")
