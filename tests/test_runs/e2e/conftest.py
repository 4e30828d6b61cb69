import io
import tarfile
from contextlib import ExitStack

import pytest

from agentbench.sandbox.interface import Limits
from tests.needed import require_tool
from tests.sandbox.conftest import bubblewrap as bubblewrap
from tests.sandbox.conftest import bubblewrap_image as bubblewrap_image

LIMITS = Limits(cpus=2.0, memory_mib=3072, pids=512)


@pytest.fixture
def open_isolated(bubblewrap, bubblewrap_image):
    """Opens a sandbox of bubblewrap that holds files, on a machine with some programs."""
    with ExitStack() as stack:

        def open_(files, *programs, mounts=()):
            for program in programs:
                require_tool(program)
            sandbox = stack.enter_context(
                bubblewrap.open(bubblewrap_image, limits=LIMITS, network=False, mounts=mounts)
            )
            sandbox.write_tree(sandbox.workspace, tar_of(files))
            return sandbox

        yield open_


def tar_of(files):
    """Files as a tar; a script that begins with `#!` is executable."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files.items():
            data = content.encode("utf-8", "surrogateescape")
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.mode = 0o755 if content.startswith("#!") else 0o644
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()
