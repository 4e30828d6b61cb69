"""The pages' first steps, played as they stand: from a clone to a judged task, agent, comparison.

The gate plays those of docs/tutorial.md with the installation that runs the tests. The soak begins
with `git clone`, in a fresh Debian that has what the README asks for and nothing else.
"""

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, walkthrough
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN, VISIBLE
from tests.needed import DOCKER
from tests.patience import HANG_SECONDS
from tests.tasks.origins import Origin

pytestmark = pytest.mark.full

_SECONDS = 60 * HANG_SECONDS
_PREREQUISITES = ("python3", "python3-venv", "git", "make", "ca-certificates")
_FRESH = "agentbench-tests/debian:12"


def first_task() -> str:
    """The commands of the page, as one script."""
    return "".join(walkthrough("docs/tutorial.md"))


def assert_compared(said: str) -> None:
    """What the commands print tells the two agents apart."""
    assert "1 of 1 task is valid" in said
    hasty, _, rest = said.partition("runs/hasty")
    careful, _, shown = rest.partition("runs/careful")
    assert "TESTS_FAILED" in hasty
    assert "resolved 1/1" in careful
    assert "test_an_empty_text" in shown


def play(script: str, folder: Path) -> str:
    """Run commands with the installation that runs the tests, and return what they print."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    said = subprocess.run(
        ["sh", "-e", "-c", script], cwd=folder, env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_SECONDS, check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stdout
    return said.stdout


def write_project(folder: Path) -> None:
    """`my-project`, whose last commit fixes a bug, and a script that fixes it, too."""
    project = Origin(folder / "my-project")
    project.write("basket.py", BUGGY)
    project.write("tests/test_basket.py", VISIBLE)
    project.commit("Begin")
    project.write("basket.py", FIXED)
    project.write("tests/test_hidden.py", HIDDEN)
    project.commit("Count every price")
    (folder / "clone").mkdir()
    (folder / "clone" / "fix.sh").write_text('sed -i "s/prices.1:./prices/" basket.py\n')


def assert_own_agent_resolved(said: str) -> None:
    assert "1 task written, 1 of 1 valid" in said
    assert "\nfirst, attempt 1 of command\nresolved\n" in said


def test_script_is_judged_on_a_commit_of_an_own_project(tmp_path):
    write_project(tmp_path)
    (_demo, _activate, own_task) = walkthrough("README.md")
    assert_own_agent_resolved(play(own_task, tmp_path / "clone"))


def test_the_first_task_is_made_judged_and_compared(tmp_path):
    assert_compared(play(first_task(), tmp_path))
    tests = tomllib.loads((tmp_path / "mine/first-word/task.toml").read_text())["tests"]
    assert tests["fail_to_pass"] == ["tests/test_spaces.py::test_leading_spaces_do_not_count"]
    assert len(tests["pass_to_pass"]) == 3


@pytest.fixture(scope="module")
def debian() -> Iterator[str]:
    """An image of Debian 12 with the prerequisites of the README."""
    packages = " ".join(_PREREQUISITES)
    dockerfile = (
        "FROM debian:12\n"
        f"RUN apt-get update && apt-get install -y --no-install-recommends {packages}\n"
    )
    made = subprocess.run(
        ["docker", "build", "-q", "-t", _FRESH, "-"], input=dockerfile, text=True,
        capture_output=True, timeout=_SECONDS, check=False,
    )  # fmt: skip
    if made.returncode != 0:  # there is no registry: the same from Debian's packages
        line = (
            f"mmdebstrap --quiet --variant=minbase --include={','.join(_PREREQUISITES)} bookworm - "
            f"| docker import - {_FRESH}"
        )
        made = subprocess.run(["sh", "-c", line], timeout=_SECONDS, check=False)
    if made.returncode != 0:
        DOCKER.refuse("no image of Debian 12 can be made")
    yield _FRESH
    subprocess.run(["docker", "rmi", "-f", _FRESH], check=False, stdout=subprocess.DEVNULL)


@pytest.mark.soak
@pytest.mark.docker
def test_a_newcomer_gets_from_the_clone_to_a_comparison(debian, tmp_path):
    write_project(tmp_path)
    (_demo, activate, own_task) = walkthrough("README.md")
    script = "\n".join(
        [
            "git clone -q /source agentbench", "git clone -q /given/my-project",
            "cd agentbench", "cp /given/clone/fix.sh .",
            "make demo", activate, own_task, first_task(),
        ]
    )  # fmt: skip
    certificates = Path("/etc/ssl/certs")
    said = subprocess.run(
        [
            # What bubblewrap needs of a container: there is no engine inside.
            "docker", "run", "--rm", "--cap-add=SYS_ADMIN", "--cap-add=NET_ADMIN",
            "--security-opt=seccomp=unconfined", "--security-opt=systempaths=unconfined",
            "-v", f"{ROOT}:/source:ro", "-v", f"{tmp_path}:/given:ro",
            "-v", f"{certificates}:{certificates}:ro",
            "-e", f"PIP_CERT={certificates}/ca-certificates.crt",
            "-e", "GIT_CONFIG_COUNT=1", "-e", "GIT_CONFIG_KEY_0=safe.directory",
            "-e", "GIT_CONFIG_VALUE_0=*",  # the clone belongs to somebody else
            debian, "sh", "-e", "-c", script,
        ],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_SECONDS, check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stdout
    assert "resolved 14/14" in said.stdout
    assert_own_agent_resolved(said.stdout)
    assert_compared(said.stdout)
