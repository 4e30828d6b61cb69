"""An instance image as SWE-bench makes them: the project is installed in it, and that is used."""

import io
import re
import tarfile
from contextlib import contextmanager

import docker as docker_sdk
import pytest

from agentbench.sandbox.docker.images import run_build
from tests.cli.conftest import call
from tests.extensions.swebench.instances import Project, write_lines

pytestmark = pytest.mark.docker

TAG = "agentbench-test/sweb.eval.x86_64.acme_1776_counting-{number}:latest"
# A conda environment there is a virtual one here; both are folders with a bin. The module that the
# project's build makes is in no commit, and the tests need it.
DOCKERFILE = """\
FROM agentbench/python:3.11
USER root
RUN python3 -m venv /opt/miniconda3/envs/testbed \\
    && /opt/miniconda3/envs/testbed/bin/python -m pip install --no-index \\
       --find-links /opt/wheels pytest
COPY repo /testbed
RUN cd /testbed && /opt/miniconda3/envs/testbed/bin/python -m pip install --no-index \\
       --no-build-isolation -e .
WORKDIR /testbed
"""
SETUP = """\
from pathlib import Path

from setuptools import setup

Path("lib/built.py").write_text("BUILT = True")
setup(name="counting", package_dir={"": "lib"}, py_modules=["counting", "built"])
"""
NEW_TESTS = """\
from pathlib import Path

import built
import counting


def test_first():
    assert built.BUILT
    assert counting.first([1, 2]) == 1


def test_last():
    assert str(Path(counting.__file__).resolve()).startswith("/workspace/")
    assert counting.last([1, 2]) == 2
"""


class Installed(Project):
    """The project with its module where only an installation finds it."""

    def _commit(self, code, tests):
        self.origin.write(".gitignore", "built.py\n*.egg-info\n")
        self.origin.write("setup.py", SETUP)
        self.origin.write("lib/counting.py", code)
        self.origin.write("tests/test_counting.py", tests)
        return self.origin.commit()

    def diff(self, name, text):
        is_test = name.startswith("tests/")
        return super().diff(name if is_test else f"lib/{name}", NEW_TESTS if is_test else text)


@contextmanager
def built_image(project, tag, dockerfile=DOCKERFILE):
    """The image of an instance of a project, until the block ends."""
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as tar:
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(dockerfile)
        tar.addfile(entry, io.BytesIO(dockerfile.encode()))
        tar.add(project.origin.path, "repo")
    client = docker_sdk.from_env()

    def build():
        context.seek(0)
        # Without the cache: another test may remove the steps in it.
        options = {"custom_context": True, "rm": True, "nocache": True, "decode": True}
        return client.api.build(fileobj=context, tag=tag, **options)

    run_build(build, tag)
    yield
    client.images.remove(tag, force=True)
    client.close()


# Tests run at the same time: each has an instance and an image of its own.
@pytest.mark.parametrize(
    ("number", "field", "options"),
    [
        (1, None, ("--image-template", "agentbench-test/sweb.eval.x86_64.{hub_id}")),
        (2, "image_name", ()),
        (3, "image", ("--environment", "images")),
    ],
    ids=["template", "auto", "images"],
)
def test_an_instance_is_proven_in_its_image_with_what_is_installed_there(
    tmp_path, number, field, options
):
    project = Installed(tmp_path / "repos")
    names = {
        "FAIL_TO_PASS": ["tests/test_counting.py::test_last"],
        "PASS_TO_PASS": ["tests/test_counting.py::test_first"],
    }
    tag = TAG.format(number=number)
    fields = names if field is None else {**names, field: tag}
    instance = project.instance(instance_id=f"Acme__counting-{number}", **fields)
    # No registry has its image, and no recipe is known.
    other = project.instance(instance_id="Acme__counting-8", image="localhost:1/none:1")
    with built_image(project, tag):
        said = call(
            *("tasks", "import", "swebench", write_lines(tmp_path / "in.jsonl", instance, other)),
            *("--out", tmp_path / "tasks", "--repos", tmp_path / "repos", "--sandbox", "docker"),
            *("--repeat", "1", "--runs-dir", tmp_path / "runs", *options),
        )
    assert said.code == 65, f"{said.stdout}{said.stderr}"
    assert said.stderr.endswith("1 task written, 1 of 1 valid, 1 refused\n"), said.stderr
    assert f"{tmp_path}/tasks/acme__counting-{number}  valid" in said.stdout
    assert re.search(r"refused: .*: Acme__counting-8: (image|repo): ", said.stderr)
