import dataclasses

import pytest

from agentbench.tasks.patched_file import PatchedFile


def test_files_are_equal_by_content_and_mode():
    assert PatchedFile(content=b"x", executable=False) == PatchedFile(
        content=b"x", executable=False
    )
    assert PatchedFile(content=b"x", executable=False) != PatchedFile(content=b"x", executable=True)


def test_a_file_is_a_value_that_nobody_changes():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PatchedFile(content=b"x", executable=False).content = b"y"
