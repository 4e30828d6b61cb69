import pytest

from agentbench.core.files import FileContent


def test_files_are_equal_by_content_and_mode():
    assert FileContent(content=b"x", executable=False) == FileContent(
        content=b"x", executable=False
    )
    assert FileContent(content=b"x", executable=False) != FileContent(content=b"x", executable=True)


def test_a_file_is_a_value_that_nobody_changes():
    with pytest.raises(AttributeError):
        FileContent(content=b"x", executable=False).content = b"y"
