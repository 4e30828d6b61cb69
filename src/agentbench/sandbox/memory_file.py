"""Hands bytes to a child process through a descriptor, without a file or a length limit."""

import os
from contextlib import ExitStack


def memory_file(content: bytes, keep: ExitStack) -> int:
    """A descriptor that reads as this content, once; closed when `keep` is."""
    descriptor = os.memfd_create("agentbench", os.MFD_CLOEXEC)
    keep.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
