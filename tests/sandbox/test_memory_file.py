import os
from contextlib import ExitStack

import pytest

from agentbench.sandbox.supervise import memory_file


def test_it_reads_as_its_content_and_is_closed_with_its_stack() -> None:
    content = b"x" * 5_000_000
    with ExitStack() as keep:
        descriptor = memory_file(content, keep)
        with open(descriptor, "rb", closefd=False) as file:
            assert file.read() == content
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
