import io
import tarfile
from contextlib import ExitStack
from datetime import timedelta

import pytest

from agentbench.core.file_locks import FileLock
from agentbench.sandbox.docker import images
from agentbench.sandbox.interface import Command, Limits
from agentbench.sandbox.toolchains import parse_tools
from tests.needed import require_tool
from tests.patience import HANG_SECONDS
from tests.sandbox.conftest import bubblewrap as bubblewrap
from tests.sandbox.conftest import bubblewrap_image as bubblewrap_image
from tests.sandbox.docker_fixtures import engine as engine
from tests.sandbox.docker_fixtures import provider as provider

pytest.register_assert_rewrite("tests.test_runs.situations.expectations")

LIMITS = Limits(cpus=2.0, memory_mib=3072, pids=512)
PYTHON = "3.13"
TOOLS = ("go", "node", "rust")
"""What the image of Docker has; other versions than those of the gate's machine, which is older."""


# Since Go 1.20 its own packages are compiled when first used, which takes a minute of CPU time. As
# after the set-up of a task, the sandboxes of the tests start with them.
GO_PACKAGES = ("testing", "errors", "fmt", "log", "os", "os/exec", "strings", "sync", "time")
COMPILED = {
    "go.mod": "module m\n",
    "a_test.go": "package m\n"
    + "".join(f"import _ {name!r}\n".replace("'", '"') for name in GO_PACKAGES),
}


@pytest.fixture(scope="session")
def image_with_tools(engine, provider, tmp_path_factory):
    """A snapshot with the tools of other languages; to make it takes some minutes, once."""
    with FileLock(tmp_path_factory.getbasetemp().parent / "image-with-tools.lock"):
        image = images.build_base_image(engine, PYTHON, parse_tools(TOOLS, PYTHON)).id
        key = f"tests-with-tools-{image.rpartition(':')[2][:12]}"
        if (known := provider.find(key)) is not None:
            return known
        with provider.open(image, limits=LIMITS, network=False) as sandbox:
            sandbox.write_tree(sandbox.workspace, tar_of(COMPILED))
            script = "go test . && rm go.mod a_test.go"
            ended = sandbox.run(
                Command(argv=("sh", "-c", script), timeout=timedelta(seconds=10 * HANG_SECONDS))
            )
            assert ended.ok, ended.stdout + ended.stderr
            return sandbox.snapshot(key)


@pytest.fixture
def open_isolated(request):
    """Opens a sandbox of Docker, or of bubblewrap on a machine with some programs, with files."""
    with ExitStack() as stack:

        def open_(back_end, files, *programs, mounts=()):
            # Only the back end of this row has to be there.
            if back_end == "docker":
                sandboxes, image = map(request.getfixturevalue, ("provider", "image_with_tools"))
            else:
                for program in programs:
                    require_tool(program)
                sandboxes, image = map(request.getfixturevalue, ("bubblewrap", "bubblewrap_image"))
            sandbox = stack.enter_context(
                sandboxes.open(image, limits=LIMITS, network=False, mounts=mounts)
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
