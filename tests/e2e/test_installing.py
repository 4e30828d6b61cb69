"""Every install line that we print installs our own distribution, from where it came.

The gate installs some of the lines, without what the distribution needs. The soak installs all of
them, with what it needs, too: that takes minutes.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import packaging
import pytest

import agentbench
from agentbench.core.extras import DISTRIBUTION
from tests.core.test_extras import named_extras
from tests.patience import HANG_SECONDS
from tests.tiers import Tier, chosen_tier

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
_SECONDS = 10 * HANG_SECONDS  # pip downloads what builds the wheel
_PRINTED = "from agentbench.core.extras import install_command as c; print(c({}))"
_LINE = re.compile(r"pip install ((?:-e )?'?(?:\.|\./\.agentbench)\[[\w,-]+\]'?)")


def documented() -> list[str]:
    """What the pages tell to install, without repetitions."""
    pages = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return list(dict.fromkeys(m for page in pages for m in _LINE.findall(page.read_text("utf-8"))))


class Environment:
    """A virtual environment in which a shell finds pip."""

    def __init__(self, folder: Path, *, alone: bool) -> None:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        self.bin = folder / "bin"
        if alone:  # the one library that the command itself needs
            source = Path(packaging.__file__).parent
            shutil.copytree(source, next(folder.glob("lib/python3*/site-packages")) / source.name)

    def shell(self, line: str, cwd: Path) -> str:
        """Run a line as somebody would who copied it; returns its output.

        Raises:
            AssertionError: it failed; the output.
        """
        path = f"{self.bin}:{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        ended = subprocess.run(
            ["sh", "-c", line], cwd=cwd, env=env, timeout=_SECONDS, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stdout
        return ended.stdout

    def printed(self, extra: str, cwd: Path) -> str:
        """The line that the installed program prints for an extra."""
        code = shlex.quote(_PRINTED.format(repr(extra)))
        return self.shell(f"python -c {code}", cwd).strip()


@pytest.fixture
def is_soak(pytestconfig: pytest.Config) -> bool:
    return chosen_tier(pytestconfig) is Tier.SOAK


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of this repository that an installation is made of."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=ignored)
    return folder


@pytest.fixture(scope="module")
def wheel(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built of them."""
    return _built(clone, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    return Environment(tmp_path_factory.mktemp("alone") / "venv", alone=True)


def test_each_line_of_the_program_installs_from_the_wheel(alone, wheel, tmp_path, is_soak):
    alone.shell(f"pip install --no-deps {wheel}", tmp_path)
    assert len(named_extras()) >= 8
    for extra in named_extras()[: None if is_soak else 2]:
        line = alone.printed(extra, tmp_path)
        assert line == f"pip install '{wheel}[{extra}]'"
        _installs(alone, line, tmp_path)


def test_the_same_files_give_the_same_wheel(wheel, clone, tmp_path):
    """Whatever their times, their permissions and their folder are."""
    other = shutil.copytree(clone, tmp_path / "other", copy_function=shutil.copyfile)
    for path in other.rglob("*.py"):
        path.chmod(0o600)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    again = _built(other, tmp_path / "dist")
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


@pytest.mark.soak
def test_a_release_lists_what_pip_installs(tmp_path):
    shutil.copytree(
        ROOT, tmp_path / "clone", symlinks=True,
        ignore=shutil.ignore_patterns(".*", "build", "dist", "runs", "test-output", "__pycache__"),
    )  # fmt: skip
    subprocess.run(["make", "release"], cwd=tmp_path / "clone", check=True, timeout=_SECONDS)
    (listed,) = (tmp_path / "clone" / "dist").glob("*.cdx.json")
    bill = json.loads(listed.read_bytes())
    main = bill["metadata"]["component"]
    assert (main["name"], main["version"]) == (DISTRIBUTION, agentbench.__version__)
    versions = {one["name"]: one["version"] for one in bill["components"]}
    assert {"docker", "GitPython", "pydantic", "pytest-json-report", "typer"} <= versions.keys()


def test_a_release_would_install_from_the_index(alone, wheel, tmp_path, monkeypatch):
    """With a folder in place of the index, which does not have the distribution yet."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    alone.shell(f"pip install --no-deps --force-reinstall {DISTRIBUTION}", tmp_path)
    line = alone.printed("llm", tmp_path)
    assert line == f"pip install '{DISTRIBUTION}[llm]'"
    _installs(alone, line, tmp_path)


def test_each_line_of_the_pages_installs_the_clone(alone, clone, tmp_path, is_soak):
    shutil.copytree(clone, tmp_path / ".agentbench")
    lines = documented()
    assert len(lines) >= 6
    if not is_soak:  # one of each form
        lines = list({line.partition("[")[0]: line for line in lines}.values())
    for line in lines:
        folder = tmp_path if ".agentbench" in line else clone
        _installs(alone, f"pip install {line}", folder)
    alone.shell("pip install --no-deps -e .", clone)
    assert alone.printed("llm", tmp_path) == f"pip install -e '{clone}[llm]'"


@pytest.mark.soak
def test_uv_and_pipx_run_the_wheel(wheel, tmp_path):
    environment = Environment(tmp_path / "venv", alone=False)
    environment.shell("pip install --quiet uv pipx", tmp_path)
    run = f"agentbench run {ROOT / 'tasks' / 'lru-expiry'} --agent oracle --sandbox bubblewrap"
    for program in (f"uvx --from {wheel}", f"pipx run --spec {wheel}"):
        said = environment.shell(f"{program} agentbench --version", tmp_path)
        assert said.splitlines()[-1] == f"agentbench {agentbench.__version__}"
        assert "resolved 1/1" in environment.shell(f"{program} {run}", tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("extra", named_extras())
def test_with_what_it_needs_the_extra_is_there(wheel, tmp_path, extra):
    environment = Environment(tmp_path / "venv", alone=False)
    environment.shell(f"pip install --quiet {wheel}", tmp_path)
    environment.shell(environment.printed(extra, tmp_path), tmp_path)
    code = (
        "from agentbench import extras; print(all(extras.is_there(one) for one in "
        f"vars(extras).values() if isinstance(one, extras.Extra) and one.name == {extra!r}))"
    )
    assert environment.shell(f"python -c {shlex.quote(code)}", tmp_path).strip() == "True"
    assert environment.shell("agentbench --version", tmp_path).startswith("agentbench ")


def _built(clone: Path, folder: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, clone],
        check=True, timeout=_SECONDS,
    )  # fmt: skip
    (wheel,) = folder.glob("agentbench_verdict-*.whl")
    return wheel


def _installs(environment: Environment, line: str, folder: Path) -> None:
    said = environment.shell(f"{line} --no-deps", folder)
    assert "does not provide the extra" not in said
    assert DISTRIBUTION in said
    others = [row for row in said.splitlines() if "Successfully installed" in row]
    ours = f"{DISTRIBUTION}-{agentbench.__version__}"
    assert all(row.split()[2:] == [ours] for row in others), said
