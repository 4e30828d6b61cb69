"""Instances of related data sets, set up as their own rows say; in Docker."""

import pytest

from tests.cli.conftest import call
from tests.extensions.swebench.e2e.test_swebench_image import Installed, built_image
from tests.extensions.swebench.instances import Project, write_lines

pytestmark = pytest.mark.docker

NAMES = {
    "FAIL_TO_PASS": ["tests/test_counting.py::test_last"],
    "PASS_TO_PASS": ["tests/test_counting.py::test_first"],
}
V2_IMAGE = "swerebenchv2/acme-counting:7-0000000"
V2_DOCKERFILE = """\
FROM agentbench/python:3.11
USER root
COPY repo /counting
RUN echo 'BUILT = True' > /counting/lib/built.py \\
    && echo /counting/lib > "$(python -c 'import site; print(site.getsitepackages()[0])')/x.pth"
WORKDIR /counting
"""
NEEDY_TESTS = """\
import shutil

import attr
from counting import first, last


def test_first():
    assert attr.__version__ == "25.1.0"
    assert shutil.which("tree")
    assert first([1, 2]) == 1


def test_last():
    assert last([1, 2]) == 2
"""


class Needy(Project):
    """A project whose tests need a library of one version, and a program."""

    def diff(self, name, text):
        return super().diff(name, NEEDY_TESTS if name.startswith("tests/") else text)


def take(tmp_path, row):
    return call(
        *("tasks", "import", "swebench", write_lines(tmp_path / "in.jsonl", row)),
        *("--out", tmp_path / "tasks", "--repos", tmp_path / "repos", "--sandbox", "docker"),
        *("--repeat", "1", "--runs-dir", tmp_path / "runs", "--quiet"),
    )


def test_an_instance_of_swe_rebench_v2_is_proven_in_its_image(tmp_path):
    project = Installed(tmp_path / "repos")
    config = {"base_image_name": "python_base_311", "install": ["x"], "test_cmd": ["pytest -rA"]}
    row = project.instance(
        **NAMES, image_name=V2_IMAGE, install_config=config, language="python", version=...
    )
    with built_image(project, V2_IMAGE, V2_DOCKERFILE):
        said = take(tmp_path, row)
    assert said.code == 0, f"{said.stdout}{said.stderr}"
    assert "1 of 1 valid" in said.stderr


def test_an_instance_of_swe_rebench_is_set_up_by_its_own_configuration(tmp_path):
    project = Needy(tmp_path / "repos")
    config = {
        "python": "3.11",
        "pre_install": ["apt-get update && apt-get install -y tree", "touch made"],
        "packages": "requirements.txt",
        "reqs_path": ["gone.txt"],
        "pip_packages": ["pytest", "attrs>=20"],
        "install": "test -f made",
        "test_cmd": "pytest --no-header -rA",
        "env_vars": None,
    }
    row = project.instance(**NAMES, install_config=config, requirements="attrs==25.1.0\n")
    said = take(tmp_path, row)
    assert said.code == 0, f"{said.stdout}{said.stderr}"
    assert "1 of 1 valid" in said.stderr
