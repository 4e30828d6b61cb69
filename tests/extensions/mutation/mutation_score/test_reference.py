from pathlib import PurePosixPath

import pytest

from agentbench.errors import InputError
from agentbench.extensions.mutation.mutation_measurement import (
    fixed_files,
    reference_change,
    why_no_mutants,
)
from agentbench.tasks.task import AnswerKey
from tests.e2e.small_task import BUGGY, FIXED, VISIBLE, patch_of
from tests.fakes.staging import Desk, local_provider, prepare, small_task, staged


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


def test_the_files_of_a_fix_are_known_before_and_after(changed, tmp_path):
    _, (file,) = changed(small_task(tmp_path / "task"))
    assert file.path == PurePosixPath("basket.py")
    assert (file.before.decode(), file.after.decode()) == (BUGGY, FIXED)


def test_what_is_no_python_and_what_no_attempt_may_change_is_left_alone(changed, tmp_path):
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


def test_a_patch_that_does_not_fit_is_refused(tmp_path):
    task = small_task(tmp_path / "task")
    with staged(task, local_provider(), Desk(tmp_path)) as context:
        prepare(context)  # as if that had been in the cache: it looks at the patch, too
        context.task = with_patch(task, patch_of("basket.py", "x = 1\n", "x = 2\n"))
        with pytest.raises(
            InputError, match=r"solution\.patch: does not apply to the base commit: "
        ):
            reference_change(context.ready)


def test_a_patch_is_needed_and_a_repository_that_it_fits(tmp_path):
    task = small_task(tmp_path / "task")
    assert why_no_mutants(task) == ""
    without = task.replace(answer_key=AnswerKey())
    assert why_no_mutants(without) == "there is no reference solution"
    source = task.source.replace(workdir="/app")
    image = task.replace(source=source)
    assert why_no_mutants(image).startswith("the work is in the image")
